import { Select, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useMay } from '../client/may.ts';
import { membersPageRead, rolesRead } from '../client/people.ts';
import type { Schemas } from '../client/types.ts';
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
  const mayList = useMay()('user.list');
  const { data: roles = [] } = useQuery(rolesRead(tenantID));
  const [member, setMember] = useState<Member>();
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
        {mayList && <MemberChoice tenantID={tenantID} value={member} onChange={setMember} />}
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

type Member = Schemas['TenantUser'];

interface ChoiceProps {
  tenantID: string;
  value: Member | undefined;
  onChange: (member: Member | undefined) => void;
}

/** A choice of one member. The API searches, since a list shows the first ones alone. */
function MemberChoice({ tenantID, value, onChange }: ChoiceProps) {
  const [search, setSearch] = useState('');
  const [typed] = useDebouncedValue(search.trim(), 250);
  // A field with a value has its title as its text, which is no search.
  const isSearch = typed !== '' && typed !== (value && nameOf(value));
  const { data, isPlaceholderData } = useQuery(membersPageRead(tenantID, isSearch ? { search: typed } : {}));
  const found = data?.users ?? [];
  const members =
    value && !found.some(({ tenantUserID }) => tenantUserID === value.tenantUserID) ? [value, ...found] : found;
  return (
    <Select
      size="xs"
      label="Member"
      description="Their other roles count too"
      placeholder="No member: this role alone"
      nothingFoundMessage={isPlaceholderData || !data ? 'Reading…' : 'No member has this in their address'}
      clearable
      clearButtonProps={{ 'aria-label': 'No member' }}
      searchable
      filter={({ options }) => options}
      searchValue={search}
      onSearchChange={setSearch}
      data={members.map((one) => ({ value: one.tenantUserID, label: nameOf(one) }))}
      value={value?.tenantUserID ?? null}
      onChange={(id) => onChange(members.find(({ tenantUserID }) => tenantUserID === id))}
    />
  );
}

function nameOf({ tenantUserID, email }: Member): string {
  return email ?? tenantUserID.slice(-8);
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
