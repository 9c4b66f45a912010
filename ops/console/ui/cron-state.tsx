import type { Schemas } from '../client/types.ts';
import type { Tone } from './status.tsx';

const looks: Record<Schemas['CronJob']['state'], { word: string; tone: Tone }> = {
  scheduled: { word: 'Scheduled', tone: 'ok' },
  paused: { word: 'Paused', tone: 'wait' },
  disabled: { word: 'Disabled', tone: 'idle' },
  stopped: { word: 'Stopped', tone: 'bad' },
};

export function CronState({ of }: { of: Pick<Schemas['CronJob'], 'state'> }) {
  const { word, tone } = looks[of.state];
  return (
    <span className="status" data-tone={tone}>
      {word}
    </span>
  );
}
