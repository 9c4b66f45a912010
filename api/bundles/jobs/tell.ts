import { IMPORT_CHANNEL, type ImportJobUpdate } from '#shared/messaging/realtime/import-jobs.ts';
import type { ApiContext } from '../../context/context.ts';
import type { Progress } from '../progress.ts';
import type { ClaimedJob } from './store.ts';

const TELL_EVERY_MS = 500;

/** Tells the user who began a job how far it is. */
export interface Telling {
  progress(now: Progress): void;
  ended(status: number): void;
}

export function startTelling(
  { id: jobID, tenantID, creatorID: userID, importID, total }: ClaimedJob,
  { logger, messaging: { backplane } }: Pick<ApiContext, 'messaging' | 'logger'>,
): Telling {
  const kind = importID ? ('rollback' as const) : ('import' as const);
  let last: Progress = { done: 0, total: total ?? 0 };
  let told = 0;

  function tell(status: ImportJobUpdate['status']): void {
    told = performance.now();
    const counts = { done: last.done, total: last.total || null };
    const update: ImportJobUpdate = { userID, tenantID, jobID, kind, status, ...counts };
    backplane.messages
      .publish(IMPORT_CHANNEL, update)
      .catch((error) => logger.debug({ err: error }, 'progress of an import is not told'));
  }

  tell('RUNNING');
  return {
    progress(now) {
      last = now;
      if (performance.now() - told >= TELL_EVERY_MS) tell('RUNNING');
    },
    ended: (status) => tell(status < 300 ? 'COMPLETED' : 'FAILED'),
  };
}
