import { Paper, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { administratorsRead } from '../client/administrators.ts';
import { useMay, usePermissions } from '../client/may.ts';
import { type Page, pages } from '../shell/pages.ts';

/** For a member of whose permissions none is about what Home shows: what they may open, and who gives permissions. */
export function OtherPages({ tenantID }: { tenantID: string }) {
  const may = useMay();
  const permissions = usePermissions(tenantID);
  const read = useQuery({ ...administratorsRead(tenantID), enabled: may('user.list') });
  const known = read.data ?? [];
  const whom = known.length > 0 ? known.join(' or ') : 'an administrator of this tenant';
  const open = pages.filter(({ needs }: Page) => needs.some((permission) => may(permission)));
  if (!permissions) return null;
  // A new member has permissions too: on the own membership.
  if (open.length === 0)
    return (
      <Paper withBorder p="md">
        <Text fw={600} component="h2">
          No page is open to you yet
        </Text>
        <Text size="sm">
          You are a member of this tenant, and no role of yours opens a page. Ask {whom} for one that does.
        </Text>
      </Paper>
    );
  return (
    <Paper withBorder p="md">
      <Text fw={600} component="h2">
        What you may open
      </Text>
      <ul className="lines">
        {open.map(({ to, title }) => (
          <li key={title}>
            <Link className="link" to={to} params={{ tenantID }}>
              {title}
            </Link>
          </li>
        ))}
      </ul>
      <Text size="sm">
        For other permissions, ask <bdi>{whom}</bdi>.
      </Text>
    </Paper>
  );
}
