import type { Schemas } from '../client/types.ts';
import { Icon, type IconName } from '../ui/icon.tsx';
import type { Tone } from '../ui/status.tsx';

const styles: Record<Schemas['FleetWorker']['state'], { word: string; tone: Tone; icon: IconName }> = {
  live: { word: 'Live', tone: 'ok', icon: 'check' },
  overdue: { word: 'Lease overdue', tone: 'wait', icon: 'clock' },
  lost: { word: 'Lost', tone: 'bad', icon: 'cross' },
  stopped: { word: 'Stopped', tone: 'idle', icon: 'ban' },
};

/** Told by word, shape and colour. */
export function WorkerState({ of }: { of: Schemas['FleetWorker']['state'] }) {
  const { word, tone, icon } = styles[of];
  return (
    <span className="status" data-tone={tone}>
      <Icon name={icon} />
      {word}
    </span>
  );
}
