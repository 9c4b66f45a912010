import { Skeleton, Stack, Text } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { catalogueRead, rolesRead } from '../client/people.ts';
import { type PickedType, referenceRead, referencesRead, SHOWN } from '../client/references.ts';
import type { Schemas } from '../client/types.ts';
import { Problem } from '../ui/problem.tsx';
import { type Grants, isOnAll } from './grants.ts';
import { inWords, permissionWords, resourceOf, resourceWords, withoutEffect } from './permission-words.ts';
import { singleTypes } from './single-types.ts';

/** The permissions of a member, and the role that gives each. */
export function MayDo({ member }: { member: Schemas['TenantUser'] & { tenantID: string } }) {
  const { tenantID, isTenantAdmin, isDisabled, isPending, roles: assigned } = member;
  const read = useQuery(rolesRead(tenantID));
  const roles = read.data;
  const error = errorInPlaceOf(read);
  if (error) return <Problem error={error} />;
  if (!roles) return <Skeleton h={120} />;
  const own = roles.filter(({ roleID }) => assigned.some((one) => one.roleID === roleID));
  return (
    <section aria-label="What this person may do">
      <Text component="h3" fw={600} size="sm">
        What this person may do
      </Text>
      <Stack gap={6} mt={6}>
        {isDisabled && <Text size="sm">Nothing: operators have blocked the account.</Text>}
        {isPending && <Text size="sm">Nothing before the invitation is accepted; then:</Text>}
        {isTenantAdmin && <Text size="sm">Everything in this tenant, as an administrator.</Text>}
        {!isTenantAdmin && own.every(isEmpty) && <Text size="sm">No role of theirs permits anything.</Text>}
        <Granted tenantID={tenantID} roles={own} />
        <Text size="xs">
          By their roles. Rules on single assets, such as those of what they have made, and rules that deny something
          are counted besides, and not listed here.
        </Text>
      </Stack>
    </section>
  );
}

export interface NamedGrants extends Grants {
  roleName: string;
}

/** The permissions of roles in words, by their types. */
export function Granted({ tenantID, roles }: { tenantID: string; roles: readonly NamedGrants[] }) {
  const { data: catalogue } = useQuery(catalogueRead(tenantID));
  const titles = useTitles(tenantID, roles);
  if (!catalogue) return <Skeleton h={80} />;
  const groups = Map.groupBy(linesOf(roles, catalogue, titles), ({ resource }) => resource);
  const order = Object.keys(resourceWords);
  const sorted = [...groups].toSorted(([one], [other]) => order.indexOf(one) - order.indexOf(other));
  return sorted.map(([resource, lines]) => (
    <details key={resource} className="group">
      <summary>
        {resourceWords[resource] ?? resource}: {lines.length}
      </summary>
      <ul className="lines prose">
        {lines.map(({ what, by }) => (
          <li key={what}>
            <bdi>{what}</bdi>, <bdi>{by.join(', ')}</bdi>
          </li>
        ))}
      </ul>
    </details>
  ));
}

/** Titles of single assets of roles. Those that a list leaves out, because it is full, are read by their ids. */
function useTitles(tenantID: string, roles: readonly NamedGrants[]): ReadonlyMap<string, string> {
  const idsOf = new Map<PickedType, Set<string>>();
  for (const { resourceType, resourceID } of roles.flatMap(({ assetPermissions }) => assetPermissions)) {
    const type = singleTypes[resourceType];
    if (type) idsOf.set(type, (idsOf.get(type) ?? new Set()).add(resourceID));
  }
  const types = [...idsOf.keys()];
  const lists = useQueries({ queries: types.map((type) => referencesRead(tenantID, type, '')) });
  const left = types.flatMap((type, at) => {
    const list = lists[at]?.data ?? [];
    if (list.length < SHOWN) return [];
    const listed = new Set(list.map(({ id }) => id));
    return [...(idsOf.get(type) ?? [])].filter((id) => !listed.has(id)).map((id) => ({ type, id }));
  });
  const found = useQueries({ queries: left.map(({ type, id }) => referenceRead(tenantID, type, id)) });
  const named = [...lists.flatMap(({ data = [] }) => data), ...found.flatMap(({ data = [] }) => data)];
  return new Map(named.map(({ id, title }) => [id, title]));
}

export interface GrantedLine {
  resource: string;
  what: string;
  /** Names of roles. */
  by: string[];
}

/** Each permission that one of the roles has: by its name, within a larger one, or on a single asset. */
export function linesOf(
  roles: readonly NamedGrants[],
  catalogue: readonly string[],
  titles: ReadonlyMap<string, string>,
): GrantedLine[] {
  const known = Object.keys(permissionWords);
  const general = catalogue
    .filter((permission) => !permission.endsWith('*') && !withoutEffect.includes(permission))
    .toSorted((one, other) => known.indexOf(one) - known.indexOf(other))
    .map((permission) => ({
      resource: resourceOf(permission),
      what: inWords(permission),
      by: roles.filter((role) => isOnAll(role, permission)).map(({ roleName }) => roleName),
    }))
    .filter(({ by }) => by.length > 0);
  const single = new Map<string, GrantedLine>();
  for (const { roleName, assetPermissions } of roles)
    for (const { resourceType: resource, resourceID, action } of assetPermissions) {
      const what = `${inWords(`${resource}.${action}`)}: “${titles.get(resourceID) ?? `…${resourceID.slice(-8)}`}”`;
      const line = single.get(what) ?? { resource, what, by: [] };
      single.set(what, { ...line, by: [...new Set([...line.by, roleName])] });
    }
  return [...general, ...single.values()];
}

export function isEmpty({ rolePermissions, assetPermissions }: Grants): boolean {
  return rolePermissions.length === 0 && assetPermissions.length === 0;
}
