import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { createBackfilling } from './fill-backfills.ts';

interface Needs {
  scheduler: { poll(): Promise<void> };
  timers: { set(): Promise<unknown> };
  pool: Pool;
  /** Whether this process is the one that sweeps. */
  leads(): boolean;
  logger: Logger;
}

/**
 * Polls for ticks that no timer has fired, and for ended work, once a second in the process that leads the sweep; it sets missing timers as
 * well. It is separate from the engine's sweep, so that 10,000 jobs that are due every second delay no run.
 */
export function createCronReconciler({ scheduler, timers, pool, leads, logger }: Needs): AsyncDisposable {
  const poll = async () => {
    if (leads()) await scheduler.poll();
  };
  const set = async () => {
    if (leads()) await timers.set();
  };
  const fillOne = createBackfilling(pool);
  const fill = async () => {
    if (leads() && (await fillOne())) fills.trigger();
  };
  const fills = startPeriodicTask({ name: 'fill backfills of cron jobs', everyMs: 1_000, run: fill }, logger);
  const steps = [
    fills,
    startPeriodicTask({ name: 'poll due cron jobs', everyMs: 1_000, run: poll }, logger),
    startPeriodicTask({ name: 'set timers of cron jobs', everyMs: 1_000, run: set }, logger),
  ];
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(steps.map((step) => step[Symbol.asyncDispose]()));
    },
  };
}
