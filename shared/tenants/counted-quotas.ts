import { LRUCache } from 'lru-cache';
import { type QuotaName, quotaExceeded, readQuotas } from '../access/quotas.ts';
import { cooperative } from '../concurrency/cooperative.ts';
import { writeJSON } from '../concurrency/write-json.ts';
import type { AppError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import { maxEntries } from '../core/lru.ts';
import type { Pool } from '../db/pool.ts';
import { onPool } from '../db/query.ts';

/** A quota whose use is read from the database only now and then and added up in memory meanwhile: for what is created often, such as runs. */
export interface CountedQuota {
  /** Counts one more, such as a run, of the tenant. Returns the error if the quota is exceeded. */
  add(tenantID: string): Promise<AppError | undefined>;
  /** Counts as many as the quota allows, at most `count`. `refusal` is the error for those that were not counted. */
  addMany(tenantID: string, count: number): Promise<{ granted: number; refusal: AppError | undefined }>;
}

interface Counted {
  max: number;
  /** Use as read from the database at `countedAt`, and what this process has accepted since. */
  used: number;
  countedAt: number;
}

/**
 * A use below `FEW` is read again after `FEW_MS`, a higher one after `MANY_MS`, because the database needs about 0.5 µs to count a row.
 */
const FEW = 10_000;
const FEW_MS = 1_000;
const MANY_MS = 10_000;
/** The use of a tenant at its quota is read again for the next request, but at most once in this time. */
const FULL_MS = 250;

/**
 * The quotas of runs in flight are not counted for each run: a lock and a count would cost more than all else that accepts it. Several
 * processes together may therefore exceed a quota by what they accept in a second, or in ten seconds above 10,000 runs.
 */
export function createRunsInFlight(pool: Pool): RunsInFlight {
  const counts = createCountedQuota(pool, 'runs');
  const bytes = createCountedQuota(pool, 'runBytes');

  async function addMany(tenantID: string, count: number, inputs: readonly JsonObject[] = []) {
    const { refusal } = await bytes.addMany(tenantID, Math.max(count, await sizeOf(inputs)));
    return refusal ? { granted: 0, refusal } : counts.addMany(tenantID, count);
  }

  return {
    addMany,
    add: async (tenantID, input) => (await addMany(tenantID, 1, input && [input])).refusal,
  };
}

/** The quotas of runs in flight: their number, and the bytes of their inputs. */
export interface RunsInFlight {
  /** Counts one more run of the tenant, with its inputs if they are known. Returns the error if a quota is exceeded. */
  add(tenantID: string, input?: JsonObject): Promise<AppError | undefined>;
  /** Counts as many runs as the quota of their number allows, at most `count`. None if all inputs together exceed the quota of bytes. */
  addMany(
    tenantID: string,
    count: number,
    inputs?: readonly JsonObject[],
  ): Promise<{ granted: number; refusal: AppError | undefined }>;
}

async function sizeOf(inputs: readonly JsonObject[]): Promise<number> {
  let bytes = 0;
  // A pause within one of them comes only if it is large.
  for await (const input of cooperative(inputs)) bytes += Buffer.byteLength(await writeJSON(input));
  return bytes;
}

/** Counts one quota in the way that `createRunsInFlight` describes. */
export function createCountedQuota(pool: Pool, quota: QuotaName): CountedQuota {
  const counts = new LRUCache<string, Counted>({
    ...maxEntries(10_000),
    async fetchMethod(tenantID): Promise<Counted | undefined> {
      const [state] = await readQuotas(onPool(pool), [quota], tenantID);
      return state && { max: state.max, used: state.used, countedAt: performance.now() };
    },
  });

  function isFresh({ used, max, countedAt }: Counted, count: number): boolean {
    const ageMs = performance.now() - countedAt;
    if (used + count > max) return ageMs < FULL_MS;
    return ageMs < (used < FEW ? FEW_MS : MANY_MS);
  }

  async function addMany(tenantID: string, count: number) {
    const known = counts.get(tenantID);
    const counted = known && isFresh(known, count) ? known : await counts.fetch(tenantID, { forceRefresh: true });
    if (!counted) return { granted: count, refusal: undefined };
    const { max, used } = counted;
    const granted = Math.min(count, Math.max(max - used, 0));
    counted.used += granted;
    const refusal = granted < count ? quotaExceeded({ quota, max, used: used + granted }) : undefined;
    return { granted, refusal };
  }

  return { addMany, add: async (tenantID) => (await addMany(tenantID, 1)).refusal };
}
