import { Box, Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { addReadyRoles, rolesRead } from '../client/people.ts';
import type { Schemas } from '../client/types.ts';
import { PeopleList, RowButton } from '../people/list.tsx';
import { RolePanel } from '../people/role-panel.tsx';
import { type PeopleView, parsePeopleView } from '../people/view.ts';
import { countOf } from '../ui/count.ts';
import { May } from '../ui/may.tsx';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

type Role = Schemas['Role'];
const from = '/shell/t/$tenantID/roles';

/** Roles: the permissions by name that members and keys are given. */
export function RolesPage() {
  const { tenantID } = useParams({ from });
  const view = useSearch({ from });
  const { shown, search = '' } = view;
  const navigate = useNavigate({ from: '/t/$tenantID/roles' });
  const show = (next: PeopleView) => void navigate({ search: parsePeopleView({ ...next }) });
  const { data, error, refetch } = useQuery(rolesRead(tenantID));
  const rows = data?.filter(({ roleName }) => roleName.toLowerCase().includes(search.toLowerCase()));
  const role = data?.find(({ roleID }) => roleID === shown);
  const close = () => show({ search });
  const open = (roleID: string) => show({ search, shown: roleID });
  const columns: Column<Role>[] = [
    {
      head: 'Role',
      cell: ({ roleID, roleName, roleDescription }) => (
        <>
          <RowButton name={roleName} onOpen={() => open(roleID)} />
          {roleDescription && (
            <div className="note">
              <bdi>{roleDescription}</bdi>
            </div>
          )}
        </>
      ),
    },
    { head: 'Permissions', cell: (row) => permissionsOf(row) },
    { head: 'Of', cell: ({ isGlobal }) => (isGlobal ? 'the deployment' : 'this tenant'), isWide: true },
    { head: 'Changed', cell: ({ updatedAt }) => <Ago at={updatedAt} />, isWide: true },
  ];
  return (
    <>
      <PageTitle title="Roles">
        <May permission="role.create" on="role:*">
          <Button onClick={() => open('new')}>New role</Button>
        </May>
      </PageTitle>
      {shown && shown !== 'new' && data && !role && <Notice tone="wait">There is no such role.</Notice>}
      {data?.every(({ isGlobal }) => isGlobal) && (
        <May permission="role.create" on="role:*">
          <ReadyRoles tenantID={tenantID} />
        </May>
      )}
      <PeopleList
        title="Roles"
        view={view}
        onView={show}
        rows={rows}
        error={error}
        onRetry={() => void refetch()}
        idOf={({ roleID }) => roleID}
        columns={columns}
        empty="No role yet. A role is a set of permissions with a name: members and API keys that have it may do what it permits."
        first={
          <May permission="role.create" on="role:*">
            <Button onClick={() => open('new')}>Add the first role</Button>
          </May>
        }
        panel={
          (role || shown === 'new') && (
            <RolePanel key={shown} tenantID={tenantID} {...(role && { role })} onSaved={open} onClose={close} />
          )
        }
      />
    </>
  );
}

/** For a tenant without roles of its own: newer tenants have these from the start. */
function ReadyRoles({ tenantID }: { tenantID: string }) {
  const queries = useQueryClient();
  const add = useMutation({
    mutationFn: () => addReadyRoles(tenantID),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['roles', tenantID] }),
  });
  return (
    <Box mb="md">
      <Notice tone="wait">
        <Text size="sm">
          This tenant has no roles of its own. There are ready ones to begin with: Viewer, Operator of runs, Builder and
          Admin. They can be changed and deleted later.
        </Text>
        <Group mt="xs">
          <Button size="xs" loading={add.isPending} onClick={() => add.mutate()}>
            Add the ready roles
          </Button>
        </Group>
        {add.error && <Problem error={add.error} />}
      </Notice>
    </Box>
  );
}

function permissionsOf({ rolePermissions, assetPermissions }: Role): string {
  if (rolePermissions.includes('*')) return 'everything';
  const inFull = rolePermissions.filter((one) => one.endsWith('.*')).length;
  const single = rolePermissions.length - inFull;
  const parts = [
    ...(inFull > 0 ? [`all of ${countOf(inFull, 'area')}`] : []),
    ...(single > 0 ? [countOf(single, inFull > 0 ? 'more permission' : 'permission')] : []),
    ...(assetPermissions.length > 0 ? [`${assetPermissions.length.toLocaleString()} on single assets`] : []),
  ];
  return parts.join(', ') || 'none';
}
