import { Select, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useMay } from '../client/may.ts';
import { membersPageRead, rolesRead } from '../client/people.ts';
import { pages } from '../shell/pages.ts';
import { type Grants, scopeOf } from './grants.ts';
import { Granted, isEmpty, type NamedGrants } from './may-do.tsx';

interface Props {
  tenantID: string;
  /** The role as it is in the form, saved or not. */
  role: NamedGrants & { roleID: string | undefined };
}

/** The pages and permissions of a member with this role, beside their other roles. */
export function RolePreview({ tenantID, role }: Props) {
  const may = useMay();
  const { data } = useQuery({ ...membersPageRead(tenantID, {}), enabled: may('user.list') });
  const { data: roles = [] } = useQuery(rolesRead(tenantID));
  const [chosen, setChosen] = useState<string | null>(null);
  const members = data?.users ?? [];
  const member = members.find(({ tenantUserID }) => tenantUserID === chosen);
  const others = roles.filter(
    ({ roleID }) => roleID !== role.roleID && member?.roles.some((one) => one.roleID === roleID),
  );
  const all: NamedGrants[] = [role, ...others];
  const who = member ? (member.email ?? 'This member') : 'A member with this role';
  return (
    <section aria-label="What a member with this role sees">
      <Text component="h3" fw={600} size="sm">
        What a member with this role sees
      </Text>
      <Stack gap={6} mt={6}>
        {members.length > 0 && (
          <Select
            size="xs"
            label="Member"
            description="Their other roles count too"
            placeholder="No member: this role alone"
            clearable
            clearButtonProps={{ 'aria-label': 'No member' }}
            searchable
            data={members.map(({ tenantUserID, email }) => ({
              value: tenantUserID,
              label: email ?? tenantUserID.slice(-8),
            }))}
            value={chosen}
            onChange={setChosen}
          />
        )}
        {member?.isTenantAdmin ? (
          <Text size="sm">Everything in this tenant, as an administrator, with or without this role.</Text>
        ) : (
          <>
            <Text size="sm">
              <bdi>{who}</bdi> finds these pages: {pagesFor(all).join(', ')}.
            </Text>
            {all.every(isEmpty) && <Text size="sm">The role permits nothing yet.</Text>}
            <Granted tenantID={tenantID} roles={all} />
          </>
        )}
      </Stack>
    </section>
  );
}

/** The pages in the navigation of a member with these roles. */
export function pagesFor(roles: readonly Grants[]): string[] {
  // A member who may open one asset finds it in the list of its type.
  const opens = (permission: string) =>
    [permission, permission.replace(/^(?!user)(\w+)\.list$/, '$1.read')].some((one) =>
      roles.some((role) => scopeOf(role, one) !== 'none' || scopeOf(role, `${one.split('.')[0]}.*`) !== 'none'),
    );
  return pages.filter(({ needs }) => needs.length === 0 || needs.some(opens)).map(({ title }) => title);
}
