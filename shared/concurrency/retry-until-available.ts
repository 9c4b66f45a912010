import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectionError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';

const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;

export interface RetryOptions {
  logger: Logger;
  /** Called after each failed attempt. */
  onUnavailable?: () => void;
  /** Whether to try again after an error. Default: after errors of connections. */
  isUnavailable?: (error: unknown) => boolean;
  /** Ends the attempts: its reason is thrown. */
  signal?: AbortSignal;
}

/**
 * Calls `start` again while Postgres or Redis cannot be reached, with pauses that double from 0.25 to 5 seconds. Throws any other
 * error.
 */
export async function retryUntilAvailable<T>(start: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { onUnavailable = () => undefined, isUnavailable = isConnectionError, signal } = options;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    try {
      return await start();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      options.logger.warn({ err: error, retryInMs: pauseMs }, 'a server that this process needs cannot be reached');
      onUnavailable();
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    signal?.throwIfAborted();
  }
}
