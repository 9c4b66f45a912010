import { LRUCache } from 'lru-cache';
import type { Pool } from './db/pool.ts';
import { onPool } from './db/query.ts';
import type { AppError } from './errors.ts';
import { quotaExceeded, readQuotas } from './quotas.ts';

/** The quota of runs in flight, for processes that accept runs. */
export interface RunsInFlight {
  /** Counts one more run of the tenant. Answers with the error if there is no room for it. */
  add(tenantID: string): Promise<AppError | undefined>;
  /** Counts as many runs as there is room for, at most `count`; with the error for the others. */
  addMany(tenantID: string, count: number): Promise<{ granted: number; refusal: AppError | undefined }>;
}

interface Counted {
  max: number;
  /** When it was counted, and those accepted here since then. */
  used: number;
  countedAt: number;
}

/** Counting takes about 0.5 µs of the database for each run in flight. */
const FEW = 10_000;
const FEW_MS = 1_000;
const MANY_MS = 10_000;
/** A tenant at its quota is counted again for its next run, though not for each one. */
const FULL_MS = 250;

/**
 * Counts from time to time and not for each run: a lock and a count would cost more than the rest of accepting. Several processes
 * together may therefore exceed the quota by what they accept in a second, or in ten beyond 10,000 runs.
 */
export function createRunsInFlight(pool: Pool): RunsInFlight {
  const counts = new LRUCache<string, Counted>({
    max: 10_000,
    async fetchMethod(tenantID): Promise<Counted | undefined> {
      const [state] = await readQuotas(onPool(pool), ['runs'], tenantID);
      return state && { max: state.max, used: state.used, countedAt: performance.now() };
    },
  });

  function isFresh({ used, max, countedAt }: Counted): boolean {
    const ageMs = performance.now() - countedAt;
    if (used >= max) return ageMs < FULL_MS;
    return ageMs < (used < FEW ? FEW_MS : MANY_MS);
  }

  async function addMany(tenantID: string, count: number) {
    const known = counts.get(tenantID);
    const counted = known && isFresh(known) ? known : await counts.fetch(tenantID, { forceRefresh: true });
    if (!counted) return { granted: count, refusal: undefined };
    const { max, used } = counted;
    const granted = Math.min(count, Math.max(max - used, 0));
    counted.used += granted;
    const refusal = granted < count ? quotaExceeded({ quota: 'runs', max, used: used + granted }) : undefined;
    return { granted, refusal };
  }

  return { addMany, add: async (tenantID) => (await addMany(tenantID, 1)).refusal };
}
