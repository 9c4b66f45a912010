import type { Response } from 'express';
import { AppError } from '#shared/core/errors.ts';

const signals = new WeakMap<Response, AbortSignal>();

/** Aborted when the client goes away before its response is sent. Made on first use: most requests need none. */
export function requestSignal(response: Response): AbortSignal {
  const made = signals.get(response);
  if (made) return made;
  const controller = new AbortController();
  if (response.destroyed) controller.abort(clientDisconnected());
  response.once('close', () => {
    if (!response.writableFinished) controller.abort(clientDisconnected());
  });
  signals.set(response, controller.signal);
  return controller.signal;
}

/**
 * Ends a request whose client has disconnected, before work for it begins. An overloaded API whose clients give up and ask again would
 * otherwise work for disconnected clients only, and answer none in time.
 */
export function refuseDisconnected({ destroyed }: Response): void {
  if (destroyed) throw clientDisconnected();
}

function clientDisconnected(): AppError {
  return new AppError('INVALID_REQUEST', 'The client closed the connection before its answer');
}
