import { Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { catalogueRead, rolesRead } from '../client/people.ts';
import type { Schemas } from '../client/types.ts';
import { Problem } from '../ui/problem.tsx';

type Role = Schemas['Role'];

/** The permissions of a member, and the role that gives each. */
export function MayDo({ member }: { member: Schemas['TenantUser'] & { tenantID: string } }) {
  const { tenantID, isTenantAdmin, isDisabled, isPending, roles: assigned } = member;
  const { data: roles, error } = useQuery(rolesRead(tenantID));
  const { data: catalogue } = useQuery(catalogueRead(tenantID));
  if (error) return <Problem error={error} />;
  if (!roles || !catalogue) return <Skeleton h={120} />;
  const own = roles.filter(({ roleID }) => assigned.some((one) => one.roleID === roleID));
  const groups = Map.groupBy(grantedBy(own, catalogue), ({ permission }) => permission.split('.')[0] ?? '');
  return (
    <section aria-label="What this person may do">
      <Text component="h3" fw={600} size="sm">
        What this person may do
      </Text>
      <Stack gap={6} mt={6}>
        {isDisabled && <Text size="sm">Nothing: operators have blocked the account.</Text>}
        {isPending && <Text size="sm">Nothing before the invitation is accepted; then:</Text>}
        {isTenantAdmin && <Text size="sm">Everything in this tenant, as an administrator.</Text>}
        {!isTenantAdmin && groups.size === 0 && <Text size="sm">No role of theirs permits anything.</Text>}
        {[...groups].map(([resource, grants]) => (
          <details key={resource} className="group">
            <summary>
              {resource}: {grants.length}
            </summary>
            <ul className="lines">
              {grants.map(({ permission, by }) => (
                <li key={permission}>
                  {permission}, <bdi>{by.join(', ')}</bdi>
                </li>
              ))}
            </ul>
          </details>
        ))}
        {own.flatMap(({ roleID, roleName, assetPermissions }) =>
          assetPermissions.map(({ resourceType, resourceID, action }) => (
            <Text key={`${roleID} ${resourceID} ${action}`} size="sm">
              {action} on the {resourceType} <code>{resourceID.slice(-8)}</code>, <bdi>{roleName}</bdi>
            </Text>
          )),
        )}
        <Text size="xs">
          By their roles. Rules on single assets, such as those of what they have made, and rules that deny something
          are counted besides, and not listed here.
        </Text>
      </Stack>
    </section>
  );
}

/** Each permission that one of the roles has, by name or by a star. */
function grantedBy(roles: readonly Role[], catalogue: readonly string[]): { permission: string; by: string[] }[] {
  return catalogue
    .filter((permission) => !permission.endsWith('*'))
    .map((permission) => ({
      permission,
      by: roles.filter((role) => holds(role, permission)).map(({ roleName }) => roleName),
    }))
    .filter(({ by }) => by.length > 0);
}

function holds({ rolePermissions }: Role, permission: string): boolean {
  return ['*', `${permission.split('.')[0]}.*`, permission].some((one) => rolePermissions.includes(one));
}
