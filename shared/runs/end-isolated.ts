import { LRUCache } from 'lru-cache';
import { isConnectionError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { mayPass } from '../db/pool.ts';
import type { Ending } from './end-tree.ts';

/** Ends runs for the sweep and for admissions, each for itself. */
export interface EndEach {
  /** One run that the database refuses to end does not keep the others from their end. Answers with those that were refused. */
  (ids: readonly string[], end: Omit<Ending, 'tenantID' | 'ids'>): Promise<readonly string[]>;
  /**
   * Runs that were refused lately. Rounds leave them out, since so many as a round looks at would keep those behind them from their end,
   * and each costs a transaction of its own.
   */
  refused(): string[];
}

const LEFT_OUT_MS = 60_000;
/** Beyond, the oldest are tried again. */
const MAX_LEFT_OUT = 10_000;

interface EndsRuns {
  end(ending: Ending): Promise<unknown>;
}

export function createEndEach(runs: EndsRuns, logger: Logger): EndEach {
  const refused = new LRUCache<string, true>({ max: MAX_LEFT_OUT, ttl: LEFT_OUT_MS });

  const endEach: (...ending: Parameters<EndEach>) => Promise<readonly string[]> = async (ids, end) => {
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
      return [...(await endEach(ids.slice(0, middle), end)), ...(await endEach(ids.slice(middle), end))];
    }
  };

  return Object.assign(endEach, { refused: () => [...refused.keys()] });
}
