import { Button, Group, Paper, Select, Skeleton, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { eventsRead, type ListenerIDs } from '../client/listeners.ts';
import type { Schemas } from '../client/types.ts';
import { May } from '../ui/may.tsx';
import { Problem } from '../ui/problem.tsx';
import { type Column, PageButtons, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { Words } from '../ui/words.tsx';
import { EventPanel } from './event-panel.tsx';
import { RedriveMany } from './redrive-many.tsx';
import { EventStatus, eventLooks } from './state.tsx';
import { eventStates, type ListenerView } from './view.ts';

interface Props {
  ids: ListenerIDs;
  view: ListenerView;
  onView: (view: ListenerView) => void;
}

/** Events that a listener has received, newest first; with one state its dead letters. */
export function Events({ ids, view, onView }: Props) {
  const { event: selected, tab: _, ...filter } = view;
  const { data, error, refetch } = useQuery(eventsRead(ids, filter));
  const [isRedriving, redriving] = useDisclosure(false);
  const columns: Column<Schemas['ListenerEvent']>[] = [
    {
      head: 'Received',
      cell: ({ eventID, receivedAt }) => (
        <Button size="compact-sm" variant="default" onClick={() => onView({ ...view, event: eventID })}>
          <Ago at={receivedAt} />
        </Button>
      ),
    },
    { head: 'State', cell: (row) => <EventStatus of={row.state} /> },
    { head: 'Source', cell: (row) => <bdi className="nowrap">{row.source}</bdi>, isWide: true },
    {
      head: 'Error',
      cell: (row) => (
        <div className="clip">
          <Words text={row.error?.message ?? '–'} />
        </div>
      ),
      isWide: true,
    },
  ];
  return (
    <>
      <Group justify="space-between" mb="sm">
        <Select
          aria-label="State of events"
          size="xs"
          data={[
            { value: 'any', label: 'All events' },
            ...eventStates.map((value) => ({ value, label: eventLooks[value].word })),
          ]}
          value={view.state ?? 'any'}
          allowDeselect={false}
          onChange={(state) => onView(eventStates.some((one) => one === state) ? { state: state as 'dead' } : {})}
        />
        <May permission="listener.execute" on={`listener:${ids.listenerID}`}>
          <Button size="xs" variant="default" onClick={redriving.open}>
            Redrive dead letters
          </Button>
        </May>
      </Group>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton h={240} />}
      <div className={selected ? 'split beside' : undefined}>
        {data && (
          <div className="panel scroller">
            {data.events.length === 0 ? (
              <Text p="xl" ta="center" c="dimmed">
                {view.state ? 'No event is in this state.' : 'Nothing was received yet.'}
              </Text>
            ) : (
              <Table
                caption="Events, newest first"
                columns={columns}
                rows={data.events}
                idOf={({ eventID }) => eventID}
                selected={selected}
              />
            )}
          </div>
        )}
        {selected && (
          <Paper withBorder p="sm">
            <EventPanel
              key={selected}
              ids={{ ...ids, eventID: selected }}
              onClose={() => onView({ ...filter })}
              onShow={(event) => onView({ event })}
            />
          </Paper>
        )}
      </div>
      <PageButtons
        cursor={view.cursor}
        next={data?.nextCursor}
        onGo={(cursor) => onView({ ...(view.state && { state: view.state }), ...(cursor && { cursor }) })}
      />
      {isRedriving && <RedriveMany ids={ids} onClose={redriving.close} />}
    </>
  );
}
