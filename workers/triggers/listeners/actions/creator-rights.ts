import { readActingVersion } from '#shared/access/account-status.ts';
import { createBatcher } from '#shared/concurrency/batcher.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Pool } from '#shared/db/pool.ts';
import { callerOfListener, type ReadListener } from '#shared/triggers/listeners/listener-reader.ts';

const REASON = 'creator';

/** An error because the creator of a listener lacks a permission. It stops the listener and does not count as a failure of the event. */
export function creatorMayNot(what: string): AppError {
  return new AppError('PERMISSION_DENIED', `The creator of the listener may not ${what}`, { reason: REASON });
}

export function isCreatorRefused(error: unknown): error is AppError {
  return error instanceof AppError && error.reason === REASON;
}

/** Requires that the creators of listeners may still act in their tenants. Concurrent calls share the reads. */
export function createRequireActiveCreator(pool: Pool): (listener: ReadListener) => Promise<void> {
  const mayAct = createBatcher((listeners: ReadListener[]) => {
    const answers = new Map<string, Promise<boolean>>();
    return Promise.all(
      listeners.map((listener) => {
        const answer = answers.get(listener.id) ?? readMayAct(pool, listener);
        answers.set(listener.id, answer);
        return answer;
      }),
    );
  });
  return async (listener) => {
    if (!(await mayAct(listener))) throw creatorMayNot('act in the tenant any more');
  };
}

async function readMayAct(pool: Pool, listener: ReadListener): Promise<boolean> {
  return (await readActingVersion(pool, listener.tenantID, callerOfListener(listener))) !== null;
}
