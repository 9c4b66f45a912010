import { IMPORT_CHANNEL, type ImportJobUpdate } from '#shared/messaging/realtime/import-jobs.ts';
import type { ApiContext } from '../../context/context.ts';
import type { Progress } from '../import/progress.ts';
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
  let sentAt = 0;

  function send(status: ImportJobUpdate['status']): void {
    sentAt = performance.now();
    const counts = { done: last.done, total: last.total || null };
    const update: ImportJobUpdate = { userID, tenantID, jobID, kind, status, ...counts };
    backplane.messages
      .publish(IMPORT_CHANNEL, update)
      .catch((error) => logger.debug({ err: error }, 'progress of an import is not told'));
  }

  send('RUNNING');
  return {
    progress(now) {
      last = now;
      if (performance.now() - sentAt >= TELL_EVERY_MS) send('RUNNING');
    },
    ended: (status) => send(status < 300 ? 'COMPLETED' : 'FAILED'),
  };
}
