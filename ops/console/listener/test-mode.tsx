import { Paper, Stack, Text } from '@mantine/core';
import { useListenerTest } from '../client/listener-test.ts';
import type { ListenerIDs } from '../client/listeners.ts';
import { useMay } from '../client/may.ts';
import type { Schemas } from '../client/types.ts';
import { JSONView } from '../ui/json.tsx';
import { Notice } from '../ui/notice.tsx';
import { Clock } from '../ui/time.tsx';
import { SendTest } from './send-test.tsx';

/** Events as they come, and what the first transform makes of them. */
export function TestMode({ ids, listener }: { ids: ListenerIDs; listener: Schemas['Listener'] }) {
  const { listenerID, status, webhookPaths } = listener;
  const mayExecute = useMay(`listener:${listenerID}`)('listener.execute');
  const { events, refused } = useListenerTest(listenerID);
  if (refused)
    return (
      <Notice tone="bad" role="alert">
        {refused}
      </Notice>
    );
  return (
    <Stack>
      {mayExecute && webhookPaths.length > 0 && <SendTest ids={ids} isActive={status !== 'inactive'} />}
      <Notice tone={status === 'active' ? 'busy' : 'wait'} role="status">
        {status === 'active'
          ? 'Events are shown here as they come.'
          : 'The listener is not active, so it receives nothing.'}
      </Notice>
      {events.map(({ key, timestamp, rawEvent, transformedEvent, transformError, dataOmitted }) => (
        <Paper key={key} withBorder p="sm" component="article" aria-label="Event that was received">
          <Text size="sm" fw={600}>
            <Clock at={timestamp} />
          </Text>
          {dataOmitted ? (
            <Text size="sm">The event is too large to be shown here; it is among the events.</Text>
          ) : (
            <div className="halves">
              <div>
                <Text size="sm">Received</Text>
                <JSONView value={rawEvent} label="Event as received" />
              </div>
              <div>
                <Text size="sm">After the transform</Text>
                {transformError ? (
                  <Notice tone="bad">{transformError}</Notice>
                ) : (
                  <JSONView value={transformedEvent} label="Event after the transform" />
                )}
              </div>
            </div>
          )}
        </Paper>
      ))}
    </Stack>
  );
}
