import { Button, Group, Select, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { errorInPlaceOf } from '../../../client/error-in-place.ts';
import { useMay } from '../../../client/may.ts';
import { createRole, readRole, rolesRead, updateRole } from '../../../client/people.ts';
import type { Grants } from '../../../people/grants.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import { Problem } from '../../../ui/problem.tsx';
import type { PageDocument } from '../../document.ts';
import { changedGrants, type NamedRole, opensBy, sharedWith, unsharedWith } from './share.ts';

/** The roles whose members can open the page, and the way to share it with another one. It is done at once, and not with the page. */
export function Sharing({ document }: { document: PageDocument }) {
  const tenantID = useTenantID();
  const may = useMay();
  const read = useQuery({ ...rolesRead(tenantID), enabled: may('role.list') });
  const error = errorInPlaceOf(read);
  const roles: readonly NamedRole[] = read.data ?? [];
  const can = roles.map((role) => ({ role, by: opensBy(role, document) })).filter(({ by }) => by !== 'none');
  return (
    <section aria-label="Who can open it">
      <Text component="h3" size="sm" fw={600}>
        Who can open it
      </Text>
      <Stack gap="xs" mt={4}>
        <Text size="sm">Administrators, and members with one of these roles:</Text>
        {!may('role.list') && <Text size="xs">You may not list roles.</Text>}
        {error && <Problem error={error} onRetry={() => void read.refetch()} />}
        {read.data && can.length === 0 && <Text size="sm">None yet. Share it with a role below.</Text>}
        {can.length > 0 && (
          <ul className="lines prose" aria-label="Roles that can open it">
            {can.map(({ role, by }) => (
              <li key={role.roleID}>
                <CanOpen {...{ tenantID, document, role, by }} />
              </li>
            ))}
          </ul>
        )}
        <ShareWith {...{ tenantID, document, roles }} />
      </Stack>
    </section>
  );
}

interface RoleProps {
  tenantID: string;
  document: PageDocument;
  role: NamedRole;
  by: 'all' | 'this' | 'none';
}

function CanOpen({ tenantID, document, role, by }: RoleProps) {
  const may = useMay(`role:${role.roleID}`);
  const save = useSaveRole(tenantID);
  return (
    <>
      <Group gap="xs" justify="space-between" wrap="nowrap">
        <Text size="sm">
          <Link className="link" to="/t/$tenantID/roles" params={{ tenantID }} search={{ shown: role.roleID }}>
            <bdi>{role.roleName}</bdi>
          </Link>
          {by === 'all' && (document.kind === 'app-page' ? ', as all pages' : ', as all dashboards')}
        </Text>
        {by === 'this' && !role.isGlobal && may('role.update') && (
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`Stop sharing with ${role.roleName}`}
            loading={save.isPending}
            onClick={() => save.mutate({ roleID: role.roleID, change: (now) => unsharedWith(now, document) })}
          >
            Stop sharing
          </Button>
        )}
      </Group>
      {save.error && <Problem error={save.error} />}
    </>
  );
}

function useSaveRole(tenantID: string) {
  const queries = useQueryClient();
  return useMutation({
    // The role is read as it is now: the listed one may have rights that were taken from it meanwhile.
    async mutationFn({ roleID, change }: { roleID: string; change: (now: Grants) => Grants }) {
      const now = await readRole({ tenantID, roleID });
      await updateRole({ tenantID, roleID }, changedGrants(now, change(now)) as never);
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['roles', tenantID] }),
  });
}

const NEW = ' new';

function ShareWith({ tenantID, document, roles }: Omit<RoleProps, 'role' | 'by'> & { roles: readonly NamedRole[] }) {
  const may = useMay();
  const queries = useQueryClient();
  const [chosen, setChosen] = useState<string | null>(null);
  const save = useSaveRole(tenantID);
  const create = useMutation({
    async mutationFn() {
      const { rolePermissions, assetPermissions } = sharedWith(NO_GRANTS, document);
      const grants = { rolePermissions: [...rolePermissions], assetPermissions: [...assetPermissions] };
      await createRole(tenantID, { roleName: newRoleName(document, roles), ...grants } as never);
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['roles', tenantID] }),
  });
  if (!may('role.update') && !may('role.create')) return null;
  const others = roles.filter((role) => !role.isGlobal && opensBy(role, document) === 'none');
  const role = others.find(({ roleID }) => roleID === chosen);
  const share = () => {
    const done = { onSuccess: () => setChosen(null) };
    if (role) save.mutate({ roleID: role.roleID, change: (now) => sharedWith(now, document) }, done);
    else create.mutate(undefined, done);
  };
  const error = save.error ?? create.error;
  return (
    <>
      <Group gap="xs" align="end" wrap="nowrap">
        <Select
          label="Share with"
          description="The role gets the right to see this page, and nothing else"
          placeholder="Choose a role"
          searchable
          flex={1}
          data={[
            ...others.map(({ roleID, roleName }) => ({ value: roleID, label: roleName })),
            ...(may('role.create') ? [{ value: NEW, label: `A new role: ${newRoleName(document, roles)}` }] : []),
          ]}
          value={chosen}
          onChange={setChosen}
        />
        <Button
          variant="default"
          disabled={chosen === null}
          loading={save.isPending || create.isPending}
          onClick={share}
        >
          Share
        </Button>
      </Group>
      {error && <Problem error={error} />}
      {create.isSuccess && (
        <Text size="xs" role="status">
          The role has no members yet.{' '}
          <Link className="link" to="/t/$tenantID/members" params={{ tenantID }}>
            Give it to members
          </Link>
        </Text>
      )}
    </>
  );
}

const NO_GRANTS: Grants = { rolePermissions: [], assetPermissions: [] };

function newRoleName({ title }: PageDocument, roles: readonly NamedRole[]): string {
  const name = `Viewers of ${title}`.slice(0, 200);
  const taken = new Set(roles.map(({ roleName }) => roleName));
  if (!taken.has(name)) return name;
  for (let count = 2; ; count += 1) if (!taken.has(`${name} ${count}`)) return `${name} ${count}`;
}
