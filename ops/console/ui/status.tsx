import type { NodeStatus, RunStatus } from '../client/types.ts';
import { Icon, type IconName } from './icon.tsx';

export type Tone = 'ok' | 'bad' | 'busy' | 'wait' | 'idle';

type Any = RunStatus | NodeStatus | 'UNFINISHED';

const looks: Record<Any, { word: string; tone: Tone; icon: IconName }> = {
  PENDING: { word: 'Pending', tone: 'idle', icon: 'clock' },
  RUNNING: { word: 'Running', tone: 'busy', icon: 'ring' },
  WAITING: { word: 'Waiting', tone: 'wait', icon: 'pause' },
  SUSPENDED: { word: 'Waiting', tone: 'wait', icon: 'pause' },
  COMPLETED: { word: 'Completed', tone: 'ok', icon: 'check' },
  SUCCESS: { word: 'Success', tone: 'ok', icon: 'check' },
  FAILED: { word: 'Failed', tone: 'bad', icon: 'cross' },
  CANCELLED: { word: 'Cancelled', tone: 'idle', icon: 'ban' },
  UNFINISHED: { word: 'Not finished', tone: 'idle', icon: 'ban' },
  SKIPPED: { word: 'Skipped', tone: 'idle', icon: 'skip' },
};

/** Told by word, shape and colour. */
export function Status({ of }: { of: Any }) {
  const { word, tone, icon } = looks[of];
  return (
    <span className="status" data-tone={tone}>
      <Icon name={icon} isTurning={of === 'RUNNING'} />
      {word}
    </span>
  );
}

export function toneOf(status: Any): Tone {
  return looks[status].tone;
}

export function wordOf(status: Any): string {
  return looks[status].word;
}
