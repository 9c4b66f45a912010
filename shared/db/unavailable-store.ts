import { AppError, isConnectionError } from '../core/errors.ts';

/** Our own Postgres did not answer a read that comes before the effect, so all may be tried again. */
export class StoreAway extends AppError {
  constructor(cause: unknown) {
    super('UNAVAILABLE', 'The service is temporarily unavailable', { cause, retryAfter: 2, details: { begun: false } });
  }
}

/**
 * Reads rows of ours that an effect needs. An error of the connection becomes StoreAway: without that, it looks like one of the
 * tenant's own servers, which may have done what it was asked for.
 */
export async function ownRead<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw isConnectionError(error) ? new StoreAway(error) : error;
  }
}
