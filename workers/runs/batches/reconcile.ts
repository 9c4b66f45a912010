import type { Rights } from '#shared/access/policy/rights.ts';
import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { resumeCancels } from '#shared/runs/batches/cancel.ts';
import type { Runs } from '#shared/runs/runs.ts';
import { createRunsInFlight } from '#shared/tenants/counted-quotas.ts';
import { createBatchFilling } from './fill.ts';

interface Needs {
  pool: Pool;
  runs: Runs;
  rights: Rights;
  logger: Logger;
}

/** Fills and cancels batches of runs in the background. Every worker does so; they share the work by rows that they claim. */
export function createBatchReconciler({ logger, ...needs }: Needs): AsyncDisposable {
  const fill = createBatchFilling({ ...needs, inFlight: createRunsInFlight(needs.pool) });
  const cancels = startPeriodicTask(
    { name: 'cancel batches', everyMs: 5_000, run: () => resumeCancels(needs) },
    logger,
  );
  const fills = startPeriodicTask(
    {
      name: 'fill batches',
      everyMs: 1_000,
      async run() {
        if (await fill()) fills.trigger();
      },
    },
    logger,
  );
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all([cancels, fills].map((step) => step[Symbol.asyncDispose]()));
    },
  };
}
