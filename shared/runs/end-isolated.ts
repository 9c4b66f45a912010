import { LRUCache } from 'lru-cache';
import { isConnectionError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { mayPass } from '../db/pool.ts';
import type { Ending } from './end-tree.ts';

/** Ends runs for the sweep and the dispatcher, each isolated from the failure of others. */
export interface EndIsolated {
  /** Ends the runs, also if the database refuses to end one of them. Returns those that were refused. */
  (ids: readonly string[], end: Omit<Ending, 'tenantID' | 'ids'>): Promise<readonly string[]>;
  /**
   * Runs that were refused lately. Rounds leave them out: enough of them would fill a round and hide the runs behind them, and each costs
   * a transaction of its own.
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

  const endIsolated: (...ending: Parameters<EndIsolated>) => Promise<readonly string[]> = async (ids, end) => {
    try {
      if (ids.length > 0) await runs.end({ tenantID: null, ids, ...end });
      return [];
    } catch (error) {
      if (isConnectionError(error)) throw error;
      const [id] = ids;
      if (ids.length === 1 && id !== undefined) {
        logger.error({ err: error, instanceID: id }, 'run cannot be ended; it is tried again');
        if (!mayPass(error)) refused.set(id, true);
        return ids;
      }
      const middle = ids.length >> 1;
      return [...(await endIsolated(ids.slice(0, middle), end)), ...(await endIsolated(ids.slice(middle), end))];
    }
  };

  return Object.assign(endIsolated, { refused: () => [...refused.keys()] });
}
