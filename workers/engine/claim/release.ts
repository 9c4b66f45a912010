import { retryUntilAvailable } from '#shared/concurrency/retry-until-available.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';

interface ClaimedRun {
  id: string;
  epoch: number;
}

/** Gives back a claimed run that was not begun. */
export async function release(pool: Pool, leaseID: string, { id, epoch }: ClaimedRun): Promise<void> {
  await pool.query(
    `update workflow_instance set held_by = null, ready_at = now()
     where id = $1 and epoch = $2 and held_by = $3 and completed_at is null`,
    [id, epoch, leaseID],
  );
}

/** Gives back runs and raises their epoch, so that commits of theirs which are still under way are fenced. */
export async function releaseFenced(pool: Pool, leaseID: string, runs: readonly ClaimedRun[]): Promise<void> {
  await pool.query(
    `update workflow_instance i set held_by = null, epoch = i.epoch + 1, ready_at = now()
     from unnest($2::uuid[], $3::int[]) as r(id, epoch)
     where i.id = r.id and i.epoch = r.epoch and i.held_by = $1 and i.completed_at is null`,
    [leaseID, runs.map(({ id }) => id), runs.map(({ epoch }) => epoch)],
  );
}

/** How long a worker that stops tries to give its runs back while Postgres is away. */
const RELEASE_TIMEOUT_MS = 5_000;

/**
 * Gives back all runs of a lease, also any that its process does not know. Never rejects: runs that cannot be given back wait until
 * the lease is over, and a process that stops must not fail because of them.
 */
export async function releaseAll(pool: Pool, leaseID: string, logger: Logger): Promise<void> {
  const giveBack = () =>
    pool.query(
      `update workflow_instance set held_by = null, ready_at = now() where held_by = $1 and completed_at is null`,
      [leaseID],
    );
  await retryUntilAvailable(giveBack, { logger, signal: AbortSignal.timeout(RELEASE_TIMEOUT_MS) }).catch((error) =>
    logger.warn({ err: error }, 'runs not handed back: they wait until the lease is over'),
  );
}
