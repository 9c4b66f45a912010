import type { Batch } from '../client/batches.ts';
import type { Tone } from '../ui/status.tsx';

/** The request that made a batch. */
export const kindWords: Record<Batch['kind'], string> = {
  execute: 'Started together',
  rerun: 'Re-run',
  cancel: 'Cancelled',
};

const stateWords: Record<Batch['status'], { word: string; tone: Tone }> = {
  FILLING: { word: 'Looking for its runs', tone: 'busy' },
  RUNNING: { word: 'Running', tone: 'busy' },
  COMPLETED: { word: 'Ended', tone: 'ok' },
  CANCELLED: { word: 'Cancelled', tone: 'idle' },
};

/** A batch that has ended says so for all its runs: failed ones are counted beside it. */
export function stateOf({ status, counts, kind }: Pick<Batch, 'status' | 'counts' | 'kind'>): {
  word: string;
  tone: Tone;
} {
  const state = stateWords[status];
  return status === 'COMPLETED' && kind !== 'cancel' && counts.FAILED > 0 ? { ...state, tone: 'bad' } : state;
}

/** Runs of a batch that have ended, and all that it has. */
export function progressOf({ counts, total }: Pick<Batch, 'counts' | 'total'>): { done: number; total: number } {
  return { done: counts.COMPLETED + counts.FAILED + counts.CANCELLED, total };
}
