import { setTimeout as sleep } from 'node:timers/promises';
import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool, PoolClient } from '#shared/db/pool.ts';
import { fromTheOldest, type Looked, type RunsEntry, retireRunsByAge, retireRunsByRule, withLock } from './runs.ts';
import { BATCH, deletionOf, LOCK, type Retention, retentions, secondsOf } from './tables.ts';

type Entry = keyof typeof retentions | RunsEntry;

// The index of an entry is the second key of its advisory lock, also in `deletionOf`.
const entries: readonly Entry[] = [...(Object.keys(retentions) as (keyof typeof retentions)[]), 'run_retention'];
const EVERY_MS = 15_000;

interface Needs {
  pool: Pool;
  settings: Retention;
  logger: Logger;
  everyMs?: number;
}

/**
 * Deletes rows older than their retention, each table by a timer of its own. Every worker does so; one worker deletes from a table at a
 * time. Separate from the engine's sweep, so that a backlog of old rows delays no run.
 */
export function startRetention({ everyMs = EVERY_MS, ...needs }: Needs): AsyncDisposable {
  const closing = new AbortController();
  const tasks = entries.map((entry) => {
    const looked = fromTheOldest();
    const run = () => retire(entry, { ...needs, signal: closing.signal, looked });
    const step = { name: `retention of ${entry}`, everyMs, firstAfterMs: 1 + Math.random() * everyMs, run };
    return startPeriodicTask(step, needs.logger);
  });
  return {
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all(tasks.map((each) => each[Symbol.asyncDispose]()));
    },
  };
}

interface Retiring {
  pool: Pool;
  settings: Retention;
  signal?: AbortSignal;
  /** Position up to which the last round has examined runs; default: before the oldest. */
  looked?: Looked;
}

/** Deletes all old rows of a table, batch by batch, and rests after each batch for as long as it took. */
export async function retire(entry: Entry, { pool, settings, signal, looked }: Retiring): Promise<number> {
  const lock = [LOCK, entries.indexOf(entry)] as const;
  let tookMs = 0;
  async function paced<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (tookMs > 0) await sleep(tookMs, undefined, { ...(signal && { signal }) }).catch(() => undefined);
    if (signal?.aborted) return undefined;
    const began = performance.now();
    const done = await work();
    tookMs = performance.now() - began;
    return done;
  }
  // Runs are deleted by several statements.
  const underLock = <T>(work: (client: PoolClient) => Promise<T>) => paced(() => withLock(pool, lock, work));

  if (entry === 'run_retention') return await retireRunsByRule({ settings, underLock });
  if (entry === 'workflow_instance' || entry === 'test_run')
    return await retireRunsByAge(entry, looked ?? fromTheOldest(), { settings, underLock });
  const statement = deletionOf(entry);
  const values = [secondsOf(entry, settings)];
  for (let sum = 0; ; ) {
    const deleted = await paced(async () => (await pool.query(statement, values)).rowCount ?? 0);
    sum += deleted ?? 0;
    if (deleted === undefined || deleted < BATCH.alone) return sum;
  }
}
