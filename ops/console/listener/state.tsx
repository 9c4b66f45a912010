import type { Schemas } from '../client/types.ts';
import type { Tone } from '../ui/status.tsx';
import { Words } from '../ui/words.tsx';

type Connection = Schemas['ListenerConnection'];

const looks: Record<Connection['state'], { word: string; tone: Tone }> = {
  connecting: { word: 'Connecting', tone: 'busy' },
  running: { word: 'Connected', tone: 'ok' },
  reconnecting: { word: 'Retrying', tone: 'wait' },
  error: { word: 'Stopped', tone: 'bad' },
  stopped: { word: 'Inactive', tone: 'idle' },
};

/** Whether a listener receives events, and why not. */
export function ListenerState({
  connection,
  listener,
}: {
  connection: Connection | undefined;
  listener: Schemas['Listener'];
}) {
  if (!connection) return <>…</>;
  const { word, tone } = looks[connection.state];
  const reason = reasonOf(listener);
  return (
    <>
      <span className="status" data-tone={tone}>
        {word}
        {connection.state === 'reconnecting' && `, attempt ${connection.retryCount}`}
      </span>
      {reason && (
        <div className="note clip" title={reason}>
          <Words text={reason} />
        </div>
      )}
    </>
  );
}

export function reasonOf({ lastError, breaker }: Pick<Schemas['Listener'], 'lastError' | 'breaker'>): string | null {
  return lastError ?? breaker?.error?.message ?? null;
}

export const eventLooks: Record<Schemas['ListenerEvent']['state'], { word: string; tone: Tone }> = {
  pending: { word: 'Pending', tone: 'busy' },
  done: { word: 'Done', tone: 'ok' },
  filtered: { word: 'Filtered out', tone: 'idle' },
  duplicate: { word: 'Duplicate', tone: 'idle' },
  dead: { word: 'Dead letter', tone: 'bad' },
  replaced: { word: 'Replaced', tone: 'idle' },
};

export function EventStatus({ of }: { of: Schemas['ListenerEvent']['state'] }) {
  const { word, tone } = eventLooks[of];
  return (
    <span className="status" data-tone={tone}>
      {word}
    </span>
  );
}
