import type { Response } from 'express';
import { AppError } from '#shared/core/errors.ts';

const signals = new WeakMap<Response, AbortSignal>();

/** Aborted when the client goes away before its answer is sent. Made on first use: most requests need none. */
export function goneSignal(response: Response): AbortSignal {
  const made = signals.get(response);
  if (made) return made;
  const controller = new AbortController();
  if (response.destroyed) controller.abort(gone());
  response.once('close', () => {
    if (!response.writableFinished) controller.abort(gone());
  });
  signals.set(response, controller.signal);
  return controller.signal;
}

/**
 * Ends a request whose client has gone, before work begins whose answer is for no one. Where clients give up and ask again, an API with too
 * little time would otherwise work on for those that have gone, and answer none in time.
 */
export function refuseGone({ destroyed }: Response): void {
  if (destroyed) throw gone();
}

function gone(): AppError {
  return new AppError('INVALID_REQUEST', 'The client closed the connection before its answer');
}
