import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Claimable } from '#shared/messaging/queues/workflow-runs.ts';
import type { Runs } from '#shared/runs/runs.ts';
import type { Lease } from '../lease/lease.ts';
import type { ClaimRow } from '../state/claimed-row.ts';
import type { Claims } from './claim.ts';
import { consumersFor, RunPermits } from './run-permits.ts';

/** The runs of a job, all of one tenant. */
export interface RunsToClaim {
  tenantID?: string | undefined;
  runs: readonly Claimable[];
}

/** How a job ended, and how many of its runs it has claimed. */
export interface ClaimOutcome {
  outcome: 'claimed' | 'not claimed' | 'put back' | 'drained';
  runs: number;
}

export interface RunClaimer {
  /** Claims runs as permits become free. Resolves when that is done and there is a permit for the next job. */
  claim(job: RunsToClaim): Promise<ClaimOutcome>;
  /** Sets whether the runs that are owned leave no memory for others. */
  setFull(isFull: boolean): void;
  /** Claims nothing more: runs that are not claimed yet are left to be dispatched again. */
  close(): void;
}

interface Dependencies {
  pool: Pool;
  runs: Pick<Runs, 'putBack'>;
  claims: Claims;
  lease: Pick<Lease, 'isValid' | 'untilValid'>;
  slots: number;
  logger: Logger;
  /** Owns a claimed run; resolves when it was released. */
  own(row: ClaimRow): Promise<unknown>;
  /** Whether runs of the tenant would get no memory here, because its creator has reached its share. */
  isOverShare(tenantID: string): boolean;
}

/**
 * How long a job may wait for permits, which become free as runs owned here end. Then its unclaimed runs are put back into the queue, because
 * another process may be idle. Where hundreds of runs end in a second, a job of many runs gets its permits within this time.
 */
const CLAIM_TIMEOUT_MS = 100;
/** How often the memory for the runs of a tenant is checked. */
const POLL_MS = 10;

/**
 * Runs that a process may own beyond one for each slot: a quarter, as in the dispatch window. So a dispatched run is claimed even if each slot
 * has a run whose node waits for a silent server. A process with few slots has no spare ones, because another process may be idle.
 */
function spareFor(slots: number): number {
  return slots < 4 ? 0 : Math.ceil(slots / 4);
}

/** Claims the runs of jobs, as many as this process has permits for. */
export function createRunClaimer(dependencies: Dependencies): RunClaimer {
  const { pool, runs, claims, lease, slots, logger, own, isOverShare } = dependencies;
  const permits = new RunPermits(slots + spareFor(slots), consumersFor(slots));
  const closed = Promise.withResolvers<void>();

  /** Answers whether the run was claimed, or with the error. The permit is free again when the run was released. */
  async function claimOne(run: Claimable): Promise<boolean | Error> {
    let row: ClaimRow | null = null;
    try {
      row = await claims.claim(run);
    } catch (error) {
      permits.release();
      return error as Error;
    }
    if (!row) {
      permits.release();
      return false;
    }
    const { id: instanceID } = row;
    void own(row)
      .catch((error) => logger.error({ err: error, instanceID }, 'run is left to another claim'))
      .finally(() => permits.release());
    return true;
  }

  const isRefused = ({ tenantID }: RunsToClaim) => tenantID !== undefined && isOverShare(tenantID);

  /** Begins to claim runs, until there is no permit for the next one. Returns the runs without a permit. */
  async function claimAll(job: RunsToClaim, claiming: Promise<boolean | Error>[]): Promise<readonly Claimable[]> {
    const deadline = performance.now() + CLAIM_TIMEOUT_MS;
    let left = job.runs;
    while (left.length > 0) {
      if (!lease.isValid) await Promise.race([lease.untilValid(), closed.promise]);
      while (isRefused(job) && !permits.isClosed && performance.now() < deadline) await sleep(POLL_MS);
      if (isRefused(job)) break;
      const permitted = await permits.acquire(left.length, deadline - performance.now());
      if (permitted === 0) break;
      claiming.push(...left.slice(0, permitted).map(claimOne));
      left = left.slice(permitted);
    }
    return left;
  }

  async function leaveToOthers(job: RunsToClaim): Promise<void> {
    try {
      if (!permits.isClosed) return await runs.putBack(job, { isLast: isRefused(job) });
    } catch (error) {
      logger.debug({ err: error }, 'runs without a place are dispatched again');
    }
    await forget(job);
  }

  /** Marks runs whose job ends without a claim as not dispatched. Otherwise they would wait ten seconds until the sweep adds a job. */
  async function forget(job: RunsToClaim): Promise<void> {
    await pool
      .query(FORGET, [job.runs.map(({ instanceID }) => instanceID), job.runs.map(({ epoch }) => epoch)])
      .catch((error) => logger.debug({ err: error }, 'the sweep adds the jobs of these runs again'));
  }

  async function claimJob(job: RunsToClaim): Promise<ClaimOutcome> {
    const claiming: Promise<boolean | Error>[] = [];
    const left = await claimAll(job, claiming);
    const claimed = await Promise.all(claiming);
    if (left.length > 0) await leaveToOthers({ ...job, runs: left });
    const failed = claimed.find((result) => result instanceof Error);
    if (failed) throw failed;
    const won = claimed.filter(Boolean).length;
    if (won > 0) return { outcome: 'claimed', runs: won };
    if (left.length === 0) return { outcome: 'not claimed', runs: 0 };
    return { outcome: permits.isClosed ? 'drained' : 'put back', runs: 0 };
  }

  return {
    async claim(job) {
      permits.fetchedJob();
      try {
        return await claimJob(job);
      } finally {
        await permits.untilMayFetch();
      }
    },
    setFull: (isFull) => permits.setFull(isFull),
    close() {
      permits.close();
      closed.resolve();
    },
  };
}

const FORGET = `
update workflow_instance i set dispatched_at = null
from unnest($1::uuid[], $2::int[]) as job(id, epoch)
where i.id = job.id and i.epoch = job.epoch - 1 and i.ready_at is not null and i.held_by is null`;
