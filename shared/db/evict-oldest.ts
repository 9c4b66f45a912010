import { LRUCache } from 'lru-cache';
import { upTo } from '../core/lru.ts';
import type { Warn } from '../core/throttled-warning.ts';
import type { Pool } from './pool.ts';

/** What a tenant may keep of rows that others can do without. */
export interface TrimBounds {
  maxBytes: number;
  maxRows: number;
}

interface Options extends TrimBounds {
  pool: Pool;
  /** Removes what is beyond the bounds, oldest first: of tenant `$1`, beyond `$2` bytes or `$3` rows. */
  statement: string;
  warn: Warn;
}

export interface Trim {
  /** Counts a row of the tenant. Resolves when old ones are removed, if it was time to look. Never rejects. */
  wrote(tenantID: string, bytes: number): Promise<void>;
}

/** A look costs a pass over the tenant's rows, so it is shared by the writes that add a sixteenth of the bounds. */
const SHARE = 16;

/**
 * Bounds what each tenant keeps in a table by removing the oldest. Each process looks at its first write of a tenant and after each
 * sixteenth, so the table may have as much beyond the bounds as there are processes.
 */
export function createTrim({ pool, statement, maxBytes, maxRows, warn }: Options): Trim {
  const written = new LRUCache<string, { bytes: number; rows: number }>(upTo(10_000));

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
