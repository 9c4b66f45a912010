import { LRUCache } from 'lru-cache';
import { bisect } from '../concurrency/bisect.ts';
import { isConnectionError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { mayPass } from '../db/pool.ts';
import type { Ending } from './end-tree.ts';

/** Ends runs for the sweep and the dispatcher, each isolated from the failure of others. */
export interface EndIsolated {
  /** Ends the runs, also if the database refuses to end one of them. Returns those that were refused. */
  (ids: readonly string[], end: Omit<Ending, 'tenantID' | 'ids'>): Promise<readonly string[]>;
  /**
   * Runs whose end was refused in the last minute. Rounds of the sweep leave them out: enough of them would fill a round and hide the runs
   * after them, and each costs a transaction of its own.
   */
  refused(): string[];
}

const LEFT_OUT_MS = 60_000;
/** Above this number the oldest are tried again. */
const MAX_LEFT_OUT = 10_000;

interface EndsRuns {
  end(ending: Ending): Promise<unknown>;
}

export function createEndIsolated(runs: EndsRuns, logger: Logger): EndIsolated {
  const refused = new LRUCache<string, true>({ max: MAX_LEFT_OUT, ttl: LEFT_OUT_MS });

  const endIsolated: (...ending: Parameters<EndIsolated>) => Promise<readonly string[]> = async (all, end) => {
    const notEnded: string[] = [];
    const attempt = async (ids: readonly string[]) => {
      try {
        await runs.end({ tenantID: null, ids, ...end });
        return undefined;
      } catch (error) {
        if (isConnectionError(error)) throw error;
        return error;
      }
    };
    await bisect(all, attempt, (id, error) => {
      logger.error({ err: error, instanceID: id }, 'run cannot be ended; it is tried again');
      if (!mayPass(error)) refused.set(id, true);
      notEnded.push(id);
    });
    return notEnded;
  };

  return Object.assign(endIsolated, { refused: () => [...refused.keys()] });
}
