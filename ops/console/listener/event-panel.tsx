import { Button, CloseButton, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { eventRead, type ListenerIDs, redriveEvent } from '../client/listeners.ts';
import { CodeEditor } from '../ui/code-editor.tsx';
import { countOf } from '../ui/count.ts';
import { JSONView, MAX_EDITED } from '../ui/json.tsx';
import { JSONEditor } from '../ui/json-editor.tsx';
import { May } from '../ui/may.tsx';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { Ago } from '../ui/time.tsx';
import { Duplicate } from './duplicate.tsx';
import { EventActions } from './event-actions.tsx';
import { EventStatus } from './state.tsx';

type Event = NonNullable<ReturnType<typeof useEvent>['data']>;
type EventIDs = ListenerIDs & { eventID: string };

interface Props {
  ids: EventIDs;
  onClose: () => void;
  /** Shows the event that is processed in place of this one. */
  onShow: (eventID: string) => void;
}

/** One event as it was received, and what has become of it. */
export function EventPanel({ ids, onClose, onShow }: Props) {
  const { data: event, error, refetch } = useEvent(ids);
  return (
    <Stack gap="sm">
      <Group justify="space-between" wrap="nowrap">
        <Text component="h2" fw={600}>
          Event <code>{ids.eventID.slice(-8)}</code>
        </Text>
        <CloseButton aria-label="Close the event" onClick={onClose} />
      </Group>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!event && !error && <Skeleton h={160} />}
      {event && <Shown ids={ids} event={event} onShow={onShow} />}
    </Stack>
  );
}

function useEvent(ids: EventIDs) {
  return useQuery(eventRead(ids));
}

function Shown({ ids, event, onShow }: { ids: EventIDs; event: Event; onShow: Props['onShow'] }) {
  const { state, receivedAt, attempts, error, method, path, instanceID, replayOf, duplicateOf } = event;
  const before = useQuery({ ...eventRead({ ...ids, eventID: replayOf ?? '' }), enabled: replayOf !== null }).data;
  // A corrected copy takes the place of the event that came.
  const isCorrected = before?.state === 'replaced';
  return (
    <>
      <Group gap="md">
        <EventStatus of={state} />
        <Ago at={receivedAt} />
        {attempts > 0 && <Text size="sm">{countOf(attempts, 'failed attempt')}</Text>}
      </Group>
      {error && (
        <>
          <Notice tone="bad" title="It was not processed">
            {error.message}
          </Notice>
          {state === 'dead' && (
            <Text size="sm">
              <strong>What to do: </strong>
              Correct the action in the settings, or the body with “Correct and redrive”. Then redrive it: it is
              processed again.
            </Text>
          )}
          {state === 'dead' && (
            <Link className="link" to="/t/$tenantID/listeners/$listenerID" params={ids} search={{ tab: 'settings' }}>
              The actions of the listener
            </Link>
          )}
          <Text size="xs" c="dimmed">
            Code <code>{error.code}</code>
          </Text>
        </>
      )}
      {state === 'dead' && (
        <May permission="listener.execute" on={`listener:${ids.listenerID}`}>
          <Redrive ids={ids} event={event} onShow={onShow} />
        </May>
      )}
      {method && (
        <Text size="sm">
          <code className="breaks">
            {method} {path}
          </code>
        </Text>
      )}
      {instanceID && (
        <Link
          className="link"
          to="/t/$tenantID/runs/$instanceID"
          params={{ tenantID: ids.tenantID, instanceID }}
          search={{}}
        >
          The run that it has started
        </Link>
      )}
      {duplicateOf && <Duplicate key={ids.eventID} {...{ ids, duplicateOf, onShow }} headers={event.headers} />}
      {replayOf && <Text size="sm">It repeats the event {replayOf.slice(-8)}.</Text>}
      <Text component="h3" fw={600} size="sm">
        {isCorrected ? 'Body as corrected' : 'Body as received'}
      </Text>
      <JSONView value={event.bodyText ?? event.bodyBase64 ?? ''} label="Body of the event" />
      <Text component="h3" fw={600} size="sm">
        Headers
      </Text>
      <JSONView value={headerLines(event.headers)} label="Headers of the event" />
      <Text component="h3" fw={600} size="sm">
        Actions
      </Text>
      <EventActions ids={ids} outcomes={event.actions} error={error?.message} />
    </>
  );
}

function headerLines(headers: Event['headers']): string {
  return headers.map(([name, value]) => `${name}: ${value}`).join('\n');
}

/** Gives a dead letter to workers again, as it is or corrected. */
function Redrive({ ids, event, onShow }: { ids: EventIDs; event: Event; onShow: Props['onShow'] }) {
  const queries = useQueryClient();
  const [isEditing, setEditing] = useState(false);
  const isLong = (event.bodyText?.length ?? 0) > MAX_EDITED;
  const shown = isLong ? '' : (event.bodyText ?? '');
  const [text, setText] = useState(shown);
  const [headers, setHeaders] = useState('');
  const redrive = useMutation({
    mutationFn: () => {
      if (!isEditing) return redriveEvent(ids, {});
      const given = headers.trim() === '' ? {} : { headers: JSON.parse(headers) as [string, string][] };
      return redriveEvent(ids, { ...(text !== shown && { bodyText: text }), ...given });
    },
    onSuccess: onShow,
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['listener-events'] }),
        queries.invalidateQueries({ queryKey: ['listener-event', ids] }),
      ]),
  });
  return (
    <Stack gap="xs">
      {isEditing && (
        <>
          <CodeEditor
            label="Body"
            language="json"
            description={
              isLong && 'The body is too long to be edited here. What is written takes its place; empty: it stays'
            }
            maxRows={16}
            value={text}
            onChange={setText}
          />
          <JSONEditor
            label="Headers"
            description="Pairs in a list, in place of those that came; empty: they stay"
            placeholder='[["content-type", "application/json"]]'
            minRows={1}
            value={headers}
            onChange={setHeaders}
          />
          <Text size="sm">A corrected copy takes its place; this event stays as it came, as replaced.</Text>
        </>
      )}
      {redrive.error && <Problem error={redrive.error} />}
      <Group gap="xs">
        <Button size="xs" loading={redrive.isPending} onClick={() => redrive.mutate()}>
          {isEditing ? 'Redrive the corrected copy' : 'Redrive'}
        </Button>
        {event.bodyText !== null && (
          <Button size="xs" variant="default" onClick={() => setEditing(!isEditing)}>
            {isEditing ? 'Leave it as it is' : 'Correct and redrive'}
          </Button>
        )}
      </Group>
    </Stack>
  );
}
