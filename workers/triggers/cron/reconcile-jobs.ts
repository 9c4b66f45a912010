import { keep } from '#shared/concurrency/periodic-task.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { createBackfilling } from './fill-backfills.ts';

interface Needs {
  ticker: { ring(): Promise<void> };
  alarms: { set(): Promise<unknown> };
  pool: Pool;
  /** Whether this process is the one that sweeps. */
  leads(): boolean;
  logger: Logger;
}

/**
 * Looks for ticks that no alarm has started, and for ended work, once a second in the process that leads the sweep; it sets missing alarms
 * as well. Apart from the engine's sweep: 10,000 jobs of one second delay no run.
 */
export function createCronKeeper({ ticker, alarms, pool, leads, logger }: Needs): AsyncDisposable {
  const ring = async () => {
    if (leads()) await ticker.ring();
  };
  const set = async () => {
    if (leads()) await alarms.set();
  };
  const fillOne = createBackfilling(pool);
  const fill = async () => {
    if (leads() && (await fillOne())) fills.now();
  };
  const fills = keep({ name: 'fill backfills of cron jobs', everyMs: 1_000, run: fill }, logger);
  const steps = [
    fills,
    keep({ name: 'look for due cron jobs', everyMs: 1_000, run: ring }, logger),
    keep({ name: 'set alarms of cron jobs', everyMs: 1_000, run: set }, logger),
  ];
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(steps.map((step) => step[Symbol.asyncDispose]()));
    },
  };
}
