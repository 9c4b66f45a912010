import { Button, Checkbox, Group, Modal, Select, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Fragment, useState } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { listenerRead } from '../client/listeners.ts';
import { type ReplayedEvent, recentEventsRead, replayInShadow, type Shadow } from '../client/shadow-replay.ts';
import type { Schemas } from '../client/types.ts';
import type { WorkflowIDs } from '../client/workflows.ts';
import { withoutTurning } from '../code/turning.ts';
import { EventStatus } from '../listener/state.tsx';
import { countOf } from '../ui/count.ts';
import { Problem } from '../ui/problem.tsx';
import { Scroller } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { Differences } from './differences.tsx';
import { Verdict } from './verdict.tsx';

type Event = Schemas['ListenerEvent'];

interface Props {
  ids: WorkflowIDs;
  listeners: Schemas['WorkflowUsage']['listeners'];
  isDirty: boolean;
  /** Saves the graph of the editor as a draft if it has changes; returns the number of its version. */
  savedVersion: () => Promise<number>;
  nameOf: (nodeID: string) => string;
  onClose: () => void;
}

/** Runs the draft with events that a listener has received, and shows what differs from the runs that they had started. */
export function ReplayDialog({ listeners, onClose, ...props }: Props) {
  const [listenerID, setListenerID] = useState(listeners[0]?.listenerID ?? '');
  return (
    <Modal opened onClose={onClose} title="Try with recent events" size="min(1100px, 95vw)" closeOnClickOutside={false}>
      <Stack gap="sm">
        <Text size="sm">
          The draft runs with the input that each event had given, and is compared with the run that the event had
          started. Its writes are refused, and nothing of the event is done again.
        </Text>
        {listeners.length > 1 && (
          <Select
            label="Listener"
            allowDeselect={false}
            data={listeners.map((one) => ({ value: one.listenerID, label: one.listenerTitle }))}
            value={listenerID}
            onChange={(value) => value && setListenerID(value)}
          />
        )}
        <Events key={listenerID} {...props} listenerID={listenerID} />
      </Stack>
    </Modal>
  );
}

type Trial = { state: 'waiting' } | { state: 'refused'; error: Error } | { state: 'begun'; shadow: Shadow };

/** So many at once: each request waits for the end of a run. */
const AT_ONCE = 3;
const FIRST = 10;

function Events({
  ids: { tenantID, workflowID },
  listenerID,
  isDirty,
  savedVersion,
  nameOf,
}: Omit<Props, 'listeners' | 'onClose'> & { listenerID: string }) {
  const path = { tenantID, listenerID };
  const events = useQuery(recentEventsRead(path));
  const listener = useQuery(listenerRead(path));
  const actionID = listener.data?.actions.find(
    ({ actionConfig, isEnabled }) => isEnabled && actionConfig.workflowID === workflowID,
  )?.actionID;
  const [chosen, setChosen] = useState<ReadonlySet<string>>();
  const [trials, setTrials] = useState<ReadonlyMap<string, Trial>>(new Map());
  const [opened, setOpened] = useState<string>();
  const usable = (events.data ?? []).filter(({ instanceID }) => instanceID !== null).map(({ eventID }) => eventID);
  const marked = chosen ?? new Set(usable.slice(0, FIRST));
  const begin = useMutation({
    mutationFn: async () => {
      const version = await savedVersion();
      const queue = usable.filter((id) => marked.has(id));
      setTrials(new Map(queue.map((id) => [id, { state: 'waiting' }])));
      const note = (id: string, trial: Trial) => setTrials((before) => new Map(before).set(id, trial));
      const work = async () => {
        for (let eventID = queue.shift(); eventID !== undefined; eventID = queue.shift())
          try {
            const shadow = await replayInShadow({ ...path, eventID, actionID: actionID ?? '' }, version);
            note(eventID, { state: 'begun', shadow });
          } catch (error) {
            note(eventID, { state: 'refused', error: error as Error });
          }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
    },
  });
  const error = errorInPlaceOf(events, listener);
  if (error) return <Problem error={error} onRetry={() => void events.refetch()} />;
  if (!events.data || !listener.data) return <Skeleton h={200} />;
  if (events.data.length === 0) return <Text size="sm">The listener has received nothing yet.</Text>;
  const mark = (id: string, isMarked: boolean) => {
    const next = new Set(marked);
    if (isMarked) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  return (
    <>
      <Group justify="space-between">
        <Group gap="xs">
          <Button size="compact-sm" variant="default" onClick={() => setChosen(new Set(usable))}>
            Choose all
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setChosen(new Set())}>
            Choose none
          </Button>
        </Group>
        <Button
          loading={begin.isPending}
          disabled={marked.size === 0 || actionID === undefined}
          onClick={() => begin.mutate()}
        >
          {isDirty ? 'Save the draft and try' : 'Try'} with {countOf(marked.size, 'event')}
        </Button>
      </Group>
      {actionID === undefined && (
        <Text size="sm">No action of the listener that is switched on starts this workflow by its id.</Text>
      )}
      {begin.error && <Problem error={begin.error} />}
      <Scroller label="Recent events">
        <table className="list dense">
          <caption className="unseen">The last {countOf(events.data.length, 'event')} of the listener</caption>
          <thead>
            <tr>
              <th scope="col">Try</th>
              <th scope="col">Received</th>
              <th scope="col">Type</th>
              <th scope="col">Body</th>
              <th scope="col">What became of it</th>
              <th scope="col">With the draft</th>
            </tr>
          </thead>
          <tbody>
            {events.data.map((event) => {
              const { eventID } = event;
              const trial = trials.get(eventID);
              const shadow = trial?.state === 'begun' ? trial.shadow : undefined;
              const replayed: ReplayedEvent = { ...path, eventID, actionID: actionID ?? '' };
              return (
                <Fragment key={eventID}>
                  <tr>
                    <td>
                      <Checkbox
                        size="xs"
                        aria-label={`Try with the event ${eventID.slice(-8)}`}
                        disabled={event.instanceID === null}
                        checked={marked.has(eventID)}
                        onChange={({ currentTarget: { checked } }) => mark(eventID, checked)}
                      />
                    </td>
                    <td>
                      <Ago at={event.receivedAt} />
                    </td>
                    <td>{event.source}</td>
                    <td>
                      <div className="clip" title={event.bodyPreview ?? ''}>
                        <bdi>{bodyText(event)}</bdi>
                      </div>
                    </td>
                    <td>
                      <EventStatus of={event.state} />
                      {event.instanceID === null && <div className="note">started no run</div>}
                    </td>
                    <td>
                      <State
                        trial={trial}
                        replayed={replayed}
                        isOpen={opened === eventID}
                        onBegun={(next) =>
                          setTrials((old) => new Map(old).set(eventID, { state: 'begun', shadow: next }))
                        }
                        onToggle={() => setOpened(opened === eventID ? undefined : eventID)}
                      />
                    </td>
                  </tr>
                  {opened === eventID && shadow && (
                    <tr>
                      <td colSpan={6}>
                        <Differences tenantID={tenantID} shadow={shadow} nameOf={nameOf} />
                      </td>
                    </tr>
                  )}
                </Fragment>
              );
            })}
          </tbody>
        </table>
      </Scroller>
    </>
  );
}

interface StateProps {
  trial: Trial | undefined;
  replayed: ReplayedEvent;
  isOpen: boolean;
  onBegun: (shadow: Shadow) => void;
  onToggle: () => void;
}

function State({ trial, ...shown }: StateProps) {
  if (!trial) return '–';
  if (trial.state === 'waiting') return <span className="note">Running …</span>;
  if (trial.state === 'refused') return <span className="fault">{trial.error.message}</span>;
  return <Verdict shadow={trial.shadow} {...shown} />;
}

function bodyText({ bodyPreview, bodyBytes }: Event): string {
  if (typeof bodyPreview === 'string') return withoutTurning(bodyPreview);
  return `${countOf(bodyBytes, 'byte')}, no text`;
}
