import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectionError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';

const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;

export interface Waiting {
  logger: Logger;
  /** Called after each failed attempt. */
  onAway?: () => void;
  /** Which errors are waited out. Default: those of connections. */
  isAway?: (error: unknown) => boolean;
  /** Ends the waiting: its reason is thrown. */
  signal?: AbortSignal;
}

/**
 * Starts something that needs Postgres or Redis, again and again while they cannot be reached, with pauses that double from 0.25 to
 * 5 seconds. Any other error is thrown.
 */
export async function untilReachable<T>(start: () => Promise<T>, waiting: Waiting): Promise<T> {
  const { onAway = () => undefined, isAway = isConnectionError, signal } = waiting;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    try {
      return await start();
    } catch (error) {
      if (!isAway(error)) throw error;
      waiting.logger.warn({ err: error, retryInMs: pauseMs }, 'a server that this process needs cannot be reached');
      onAway();
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    signal?.throwIfAborted();
  }
}
