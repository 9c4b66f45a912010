import type { Pool } from '#shared/db/pool.ts';
import type { Logger } from '#shared/logger.ts';
import { resumeCancels } from '#shared/run-batches.ts';
import type { Runs } from '#shared/runs.ts';
import { keep } from './keep.ts';

const EVERY_MS = 5_000;

/** Does what batches of runs need without a request. Every worker does so; they share the work by rows that they claim. */
export function createBatchKeeper(needs: { pool: Pool; runs: Runs; logger: Logger }): AsyncDisposable {
  const step = { name: 'cancel batches', everyMs: EVERY_MS, run: () => resumeCancels(needs) };
  return keep(step, needs.logger);
}
