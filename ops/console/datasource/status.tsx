import type { Schemas } from '../client/types.ts';
import type { Tone } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';

const looks: Record<Schemas['Datasource']['connectionStatus'], { word: string; tone: Tone }> = {
  unknown: { word: 'Not tested', tone: 'idle' },
  connected: { word: 'Connected', tone: 'ok' },
  failed: { word: 'Failed', tone: 'bad' },
};

/** The result and the time of the last test of the connection, or that its secrets cannot be read. */
export function ConnectionStatus({
  of: { connectionStatus, testedAt, unreadableSecrets },
}: {
  of: Schemas['Datasource'];
}) {
  if (unreadableSecrets.length > 0)
    return (
      <span className="status" data-tone="bad">
        Secrets unreadable
      </span>
    );
  const { word, tone } = looks[connectionStatus];
  return (
    <>
      <span className="status" data-tone={tone}>
        {word}
      </span>{' '}
      {testedAt && <Ago at={testedAt} />}
    </>
  );
}
