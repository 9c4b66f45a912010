import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { rolesRead } from '../client/people.ts';
import type { Schemas } from '../client/types.ts';
import { PeopleList, RowButton } from '../people/list.tsx';
import { RolePanel } from '../people/role-panel.tsx';
import { type PeopleView, parsePeopleView } from '../people/view.ts';
import { May } from '../ui/may.tsx';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
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
    { head: 'Role', cell: ({ roleID, roleName }) => <RowButton name={roleName} onOpen={() => open(roleID)} /> },
    { head: 'Permissions', cell: (row) => countOf(row) },
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
      <PeopleList
        title="Roles"
        view={view}
        onView={show}
        rows={rows}
        error={error}
        onRetry={() => void refetch()}
        idOf={({ roleID }) => roleID}
        columns={columns}
        panel={
          (role || shown === 'new') && (
            <RolePanel key={shown} tenantID={tenantID} {...(role && { role })} onSaved={open} onClose={close} />
          )
        }
      />
    </>
  );
}

function countOf({ rolePermissions, assetPermissions }: Role): string {
  if (rolePermissions.includes('*')) return 'everything';
  const single = assetPermissions.length === 0 ? '' : `, ${assetPermissions.length} on single assets`;
  return `${rolePermissions.length}${single}`;
}
