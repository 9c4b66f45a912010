import { setTimeout as sleep } from 'node:timers/promises';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import type { Logger } from '#shared/logger.ts';
import { keep } from '../keep.ts';
import { batchOf, deletionOf, type Retention, retentions, secondsOf } from './tables.ts';

type Table = keyof typeof retentions;

const tables = Object.keys(retentions) as Table[];
const EVERY_MS = 15_000;

interface Needs {
  pool: Pool;
  settings: Retention;
  logger: Logger;
  everyMs?: number;
}

/**
 * Deletes rows past their period, each table by a timer of its own. Every worker does so; of several, one deletes from a table at a
 * time. Apart from the engine's sweep: a backlog of old rows delays no run.
 */
export function startRetention({ everyMs = EVERY_MS, ...needs }: Needs): AsyncDisposable {
  const closing = new AbortController();
  const kept = tables.map((table) => {
    const run = () => retire(table, { ...needs, signal: closing.signal });
    const step = { name: `retention of ${table}`, everyMs, firstAfterMs: 1 + Math.random() * everyMs, run };
    return keep(step, needs.logger);
  });
  return {
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all(kept.map((each) => each[Symbol.asyncDispose]()));
    },
  };
}

interface Retiring {
  pool: Pool;
  settings: Retention;
  signal?: AbortSignal;
}

/** Deletes all old rows of a table, batch by batch, and rests after each batch for as long as it took. */
export async function retire(table: Table, { pool, settings, signal }: Retiring): Promise<number> {
  const statement = deletionOf(table);
  const values = [secondsOf(table, settings)];
  let sum = 0;
  while (!signal?.aborted) {
    const began = performance.now();
    const deleted = await inTransaction(pool, async (client) => {
      const { rows } = await client.query<{ mine: boolean }>(TURN, [tables.indexOf(table)]);
      return rows[0]?.mine ? ((await client.query(statement, values)).rowCount ?? 0) : 0;
    });
    sum += deleted;
    if (deleted < batchOf(table)) return sum;
    await sleep(performance.now() - began, undefined, { ...(signal && { signal }) }).catch(() => undefined);
  }
  return sum;
}

// Until the transaction ends; the worker that has it goes on, others have nothing to do.
const TURN = 'select pg_try_advisory_xact_lock(7265004, $1::int) as mine';
