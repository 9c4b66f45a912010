import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { parseListFilter } from '../client/list-filter.ts';
import { connectionsRead, listenerFormsRead, listenersRead } from '../client/listeners.ts';
import { useMemberNames } from '../client/members.ts';
import type { Schemas } from '../client/types.ts';
import { ListenerState } from '../listener/state.tsx';
import { AssetList } from '../ui/asset-list.tsx';
import { countOf } from '../ui/count.ts';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

type Row = Schemas['Listener'];
const from = '/shell/t/$tenantID/listeners';

/** The list of listeners, which wait for events from outside. */
export function ListenersPage() {
  const { tenantID } = useParams({ from });
  const filter = useSearch({ from });
  const navigate = useNavigate({ from: '/t/$tenantID/listeners' });
  const read = useQuery(listenersRead(tenantID, filter));
  const { data: connections } = useQuery(connectionsRead(tenantID));
  const { data: forms } = useQuery(listenerFormsRead(tenantID));
  const nameOf = useMemberNames(tenantID);
  const create = () => void navigate({ to: '/t/$tenantID/listeners/new', params: { tenantID } });
  const columns: Column<Row>[] = [
    {
      head: 'Title',
      cell: ({ listenerID, listenerTitle }) => (
        <Link className="link" to="/t/$tenantID/listeners/$listenerID" params={{ tenantID, listenerID }}>
          <div className="clip">
            <bdi>{listenerTitle}</bdi>
          </div>
        </Link>
      ),
    },
    {
      head: 'State',
      cell: (row) => (
        <>
          <ListenerState connection={connections?.[row.listenerID]} listener={row} />
          <Refusals listener={row} count={connections?.[row.listenerID]?.refusals ?? 0} />
        </>
      ),
    },
    { head: 'Type', cell: ({ listenerType }) => forms?.schemas[listenerType]?.label ?? '…', isWide: true },
    { head: 'Owner', cell: ({ creatorID }) => <bdi>{nameOf(creatorID)}</bdi>, isWide: true },
    { head: 'Last event', cell: ({ lastEventAt }) => (lastEventAt ? <Ago at={lastEventAt} /> : 'none') },
    { head: 'Events', cell: ({ eventCount }) => eventCount.toLocaleString(), isWide: true },
  ];
  return (
    <AssetList
      tenantID={tenantID}
      title="Webhooks & listeners"
      entityType="listener"
      filter={filter}
      onFilter={(next) => void navigate({ search: parseListFilter({ ...next }) })}
      read={read}
      idOf={({ listenerID }) => listenerID}
      titleOf={({ listenerTitle }) => listenerTitle}
      columns={columns}
      empty="No listener yet. A listener starts a workflow when a webhook, a message, a mail or a change in a database comes."
      first={
        <May permission="listener.create" on="listener:*">
          <Button onClick={create}>Set up the first one</Button>
        </May>
      }
      actions={
        <May permission="listener.create" on="listener:*">
          <Button leftSection={<Icon name="plus" />} onClick={create}>
            New listener
          </Button>
        </May>
      }
    />
  );
}

/** A listener that receives events may have refused others, which nothing else in its state tells. */
function Refusals({ listener, count }: { listener: Row; count: number }) {
  if (count === 0) return null;
  const { tenantID, listenerID } = listener;
  return (
    <div>
      <Link
        className="link"
        to="/t/$tenantID/listeners/$listenerID"
        params={{ tenantID, listenerID }}
        search={{ tab: 'refused' }}
      >
        {countOf(count, 'delivery', 'deliveries')} refused in 24 h
      </Link>
    </div>
  );
}
