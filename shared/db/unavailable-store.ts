import { AppError, isConnectionError } from '../core/errors.ts';

/** The error of a read from our own Postgres that comes before any effect: nothing was done, so the work may be tried again. */
export class StoreAway extends AppError {
  constructor(cause: unknown) {
    super('UNAVAILABLE', 'The service is temporarily unavailable', { cause, retryAfter: 2, details: { begun: false } });
  }
}

/**
 * Reads rows of our own database before an effect on a tenant's server. An error of the connection becomes StoreAway: otherwise it would
 * look like an error of the connection to that server, which may have executed the request.
 */
export async function ownRead<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw isConnectionError(error) ? new StoreAway(error) : error;
  }
}
