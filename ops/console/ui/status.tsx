import type { NodeStatus, RunStatus } from '../client/types.ts';
import { Icon, type IconName } from './icon.tsx';

export type Tone = 'ok' | 'bad' | 'busy' | 'wait' | 'idle';

const looks: Record<RunStatus | NodeStatus, { word: string; tone: Tone; icon: IconName }> = {
  PENDING: { word: 'Pending', tone: 'idle', icon: 'clock' },
  RUNNING: { word: 'Running', tone: 'busy', icon: 'ring' },
  WAITING: { word: 'Waiting', tone: 'wait', icon: 'pause' },
  SUSPENDED: { word: 'Waiting', tone: 'wait', icon: 'pause' },
  COMPLETED: { word: 'Completed', tone: 'ok', icon: 'check' },
  SUCCESS: { word: 'Success', tone: 'ok', icon: 'check' },
  FAILED: { word: 'Failed', tone: 'bad', icon: 'cross' },
  CANCELLED: { word: 'Cancelled', tone: 'idle', icon: 'ban' },
  SKIPPED: { word: 'Skipped', tone: 'idle', icon: 'skip' },
};

/** Told by word, shape and colour. */
export function Status({ of }: { of: RunStatus | NodeStatus }) {
  const { word, tone, icon } = looks[of];
  return (
    <span className="status" data-tone={tone}>
      <Icon name={icon} isTurning={of === 'RUNNING'} />
      {word}
    </span>
  );
}

export function toneOf(status: RunStatus | NodeStatus): Tone {
  return looks[status].tone;
}

export function wordOf(status: RunStatus | NodeStatus): string {
  return looks[status].word;
}
