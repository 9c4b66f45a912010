import { LRUCache } from 'lru-cache';
import { maxEntries } from '../core/lru.ts';
import type { Warn } from '../core/throttled-warning.ts';
import type { Pool } from './pool.ts';

/** The most that a table keeps of one tenant, of rows that it can do without. */
export interface EvictionLimits {
  maxBytes: number;
  maxRows: number;
}

interface Options extends EvictionLimits {
  pool: Pool;
  /** Removes what is beyond the limits, oldest first: of tenant `$1`, beyond `$2` bytes or `$3` rows. */
  statement: string;
  warn: Warn;
}

export interface RowEviction {
  /** Counts a row of the tenant. Resolves when old ones are removed, if a look was due. Never rejects. */
  wrote(tenantID: string, bytes: number): Promise<void>;
}

/** A look costs a pass over the tenant's rows, so it is shared by the writes that add a sixteenth of the limits. */
const SHARE = 16;

/**
 * Limits what a table keeps of each tenant by removing the oldest rows. Each process looks at its first write of a tenant and after each
 * sixteenth, so the table may have as much beyond the limits as there are processes.
 */
export function createRowEviction({ pool, statement, maxBytes, maxRows, warn }: Options): RowEviction {
  const written = new LRUCache<string, { bytes: number; rows: number }>(maxEntries(10_000));

  return {
    async wrote(tenantID, bytes) {
      const since = written.get(tenantID);
      if (since) {
        since.bytes += bytes;
        since.rows += 1;
        if (since.bytes < maxBytes / SHARE && since.rows < maxRows / SHARE) return;
      }
      written.set(tenantID, { bytes: 0, rows: 0 });
      try {
        await pool.query(statement, [tenantID, maxBytes, maxRows]);
      } catch (error) {
        // The next write looks again.
        written.delete(tenantID);
        warn(error, 'old rows of a tenant were not removed');
      }
    },
  };
}
