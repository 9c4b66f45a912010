import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { membersPageRead } from '../client/people.ts';
import type { Schemas } from '../client/types.ts';
import { AddMember } from '../people/add-member.tsx';
import { PeopleList, RowButton } from '../people/list.tsx';
import { MemberPanel } from '../people/member-panel.tsx';
import { type PeopleView, parsePeopleView } from '../people/view.ts';
import { May } from '../ui/may.tsx';
import { PageTitle } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

type Member = Schemas['TenantUser'];
const from = '/shell/t/$tenantID/members';

/** Who belongs to the tenant, and what each may do. */
export function MembersPage() {
  const { tenantID } = useParams({ from });
  const view = useSearch({ from });
  const { shown, ...filter } = view;
  const navigate = useNavigate({ from: '/t/$tenantID/members' });
  const show = (next: PeopleView) => void navigate({ search: parsePeopleView({ ...next }) });
  const { data, error, refetch } = useQuery(membersPageRead(tenantID, filter));
  const [isAdding, adding] = useDisclosure(false);
  const columns: Column<Member>[] = [
    {
      head: 'Person',
      cell: ({ tenantUserID, email }) => (
        <RowButton name={email ?? tenantUserID.slice(-8)} onOpen={() => show({ ...filter, shown: tenantUserID })} />
      ),
    },
    {
      head: 'Roles',
      cell: ({ roles, isTenantAdmin }) => (
        <div className="clip">
          <bdi>
            {[...(isTenantAdmin ? ['Administrator'] : []), ...roles.map(({ roleName }) => roleName)].join(', ') ||
              'none'}
          </bdi>
        </div>
      ),
    },
    { head: 'Status', cell: (row) => membershipOf(row), isWide: true },
    { head: 'Last seen', cell: ({ lastSeen }) => (lastSeen ? <Ago at={lastSeen} /> : 'never'), isWide: true },
  ];
  return (
    <>
      <PageTitle title="Members">
        <May permission="user.create">
          <Button onClick={adding.open}>Add a member</Button>
        </May>
      </PageTitle>
      <PeopleList
        title="Members"
        view={view}
        onView={show}
        rows={data?.users}
        next={data?.nextCursor}
        error={error}
        onRetry={() => void refetch()}
        idOf={({ tenantUserID }) => tenantUserID}
        columns={columns}
        empty="No member yet."
        panel={
          shown && <MemberPanel key={shown} ids={{ tenantID, tenantUserID: shown }} onClose={() => show(filter)} />
        }
      />
      {isAdding && (
        <AddMember
          tenantID={tenantID}
          onClose={adding.close}
          onAdded={({ tenantUserID }) => {
            adding.close();
            show({ shown: tenantUserID });
          }}
        />
      )}
    </>
  );
}

function membershipOf({ isDisabled, isPending, isTenantAdmin }: Member): string {
  if (isDisabled) return 'Blocked';
  if (isPending) return 'Invited';
  return isTenantAdmin ? 'Administrator' : 'Member';
}
