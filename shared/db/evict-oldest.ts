import { LRUCache } from 'lru-cache';
import { maxEntries } from '../core/lru.ts';
import type { Warn } from '../core/throttled-warning.ts';
import type { Pool } from './pool.ts';

/** Limits of what a table stores for one tenant, in rows that may be deleted when there are too many. */
export interface EvictionLimits {
  maxBytes: number;
  maxRows: number;
}

interface Options extends EvictionLimits {
  pool: Pool;
  /** Removes the oldest rows (or their contents) of tenant `$1` that exceed `$2` bytes or `$3` rows. */
  statement: string;
  warn: Warn;
}

export interface RowEviction {
  /** Counts a row written for the tenant. If a check of the limits is due, resolves when the oldest rows are removed. Never rejects. */
  wrote(tenantID: string, bytes: number): Promise<void>;
}

/** A check reads all rows of the tenant, so it is due only when writes have added a sixteenth of the limits. */
const SHARE = 16;

/**
 * Limits what a table stores for each tenant by removing the oldest rows. Each process checks at its first write for a tenant, and whenever
 * its writes have added a sixteenth of the limits. So the table may exceed the limits by a sixteenth for each process.
 */
export function createRowEviction({ pool, statement, maxBytes, maxRows, warn }: Options): RowEviction {
  const written = new LRUCache<string, { bytes: number; rows: number }>(maxEntries(10_000));

  return {
    async wrote(tenantID, bytes) {
      const sinceCheck = written.get(tenantID);
      if (sinceCheck) {
        sinceCheck.bytes += bytes;
        sinceCheck.rows += 1;
        if (sinceCheck.bytes < maxBytes / SHARE && sinceCheck.rows < maxRows / SHARE) return;
      }
      written.set(tenantID, { bytes: 0, rows: 0 });
      try {
        await pool.query(statement, [tenantID, maxBytes, maxRows]);
      } catch (error) {
        // The next write checks again.
        written.delete(tenantID);
        warn(error, 'old rows of a tenant were not removed');
      }
    },
  };
}
