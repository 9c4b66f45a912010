import type { Rights } from '#shared/access/policy/rights.ts';
import { Counter } from '#shared/core/counter.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Messages } from '#shared/messaging/backplane/index.ts';
import type { Runs } from '#shared/runs/runs.ts';
import { createRunsInFlight } from '#shared/tenants/counted-quotas.ts';
import { createBackfillFollower } from './backfill-follower.ts';
import { type PollNeeds, pollJobs } from './poll-due.ts';
import { interleaveTenants } from './tenant-order.ts';

/** Jobs of one transaction. */
const PAGE = 50;
/** Jobs of a page that are reserved for those whose work has ended. With more, it would take longer to start many jobs due at once. */
const ENDED = 5;
const POLL_MS = 1_000;
/** Jobs that one poll reads; further ones are read by the next poll. */
const MAX_FOUND = 20_000;

interface Needs {
  pool: Pool;
  runs: Pick<Runs, 'end' | 'dispatchQueued'>;
  rights: Rights;
  lateMs: number;
  /** Time after which the due jobs are read again, so that a job that is due by now does not wait for all that were found before. */
  pollMs?: number;
  /** Tells of the ends of runs. Without it, the ticks of a backfill are started by the poll of each second alone. */
  messages?: Messages;
  logger: Logger;
}

/** Starts the ticks of cron jobs. Any worker may do so at any time; they share the work by rows that they lock. */
export interface CronScheduler extends Disposable {
  /** Polls every job that is due, or whose work has ended. Calls during a poll lead to one further poll. */
  poll(): Promise<void>;
  /** Totals so far, for metrics: ticks by what was decided, and how late those were that were fired in their time. */
  readonly stats: { ticks: Counter<'outcome'>; lateSeconds: number };
}

export function createCronScheduler(options: Needs): CronScheduler {
  const { pool, runs, rights, lateMs, pollMs = POLL_MS, messages, logger } = options;
  const follower =
    messages && createBackfillFollower({ messages, poll: async (id) => (await pollPage([id])) > 0, logger });
  const needs: PollNeeds = {
    pool,
    rights,
    lateMs,
    inFlight: createRunsInFlight(pool),
    ...(follower && { backfillChannel: follower.channel }),
  };
  const stats = { ticks: new Counter<'outcome'>(), lateSeconds: 0 };
  let polling: Promise<void> | undefined;
  let isWanted = false;

  async function rounds(): Promise<void> {
    while (isWanted) {
      isWanted = false;
      while (await pollOnce());
    }
  }

  /** Polls due jobs page by page. Returns whether it has stopped before the last page. */
  async function pollOnce(): Promise<boolean> {
    const began = performance.now();
    let locked = 0;
    for (const page of await findPages(pool)) {
      if (locked > 0 && performance.now() - began >= pollMs) return true;
      locked += await pollPage(page);
    }
    return false;
  }

  /** Polls these jobs. Returns how many of them no other worker had locked. */
  async function pollPage(ids: readonly string[]): Promise<number> {
    const { started, backfilled, toCancel, ...polled } = await pollJobs(needs, ids);
    follower?.add(backfilled);
    for (const outcome of polled.outcomes) stats.ticks.add({ outcome });
    stats.lateSeconds += polled.lateMs / 1_000;
    // After the commit. If this process dies before, the sweep cancels these runs by their rows in `run_notice`.
    if (toCancel.length > 0) await runs.end({ tenantID: null, ids: toCancel, status: 'CANCELLED', error: null });
    if (started > 0)
      await runs.dispatchQueued().catch((error) => logger.debug({ err: error }, 'dispatch is left to the sweep'));
    return polled.locked;
  }

  return {
    stats,
    poll() {
      isWanted = true;
      polling ??= rounds().finally(() => {
        polling = undefined;
      });
      return polling;
    },
    [Symbol.dispose]: () => follower?.[Symbol.dispose](),
  };
}

interface Found {
  id: string;
  tenantID: string;
}

/** Pages of jobs that are due or whose work has ended: one of each tenant, then the next of each, beginning with a random tenant. */
async function findPages(pool: Pool): Promise<string[][]> {
  const found = await pool.query<Found>({ name: 'cron_find_ended', text: FIND_ENDED, values: [MAX_FOUND] });
  const ended = interleaveTenants(found.rows);
  const due = interleaveTenants(
    (await pool.query<Found>({ name: 'cron_find_due', text: FIND_DUE, values: [MAX_FOUND] })).rows,
  );
  const pages: string[][] = [];
  for (let [d, e] = [0, 0]; d < due.length || e < ended.length; ) {
    const ofDue = due.slice(d, d + PAGE - Math.min(ENDED, ended.length - e));
    const ofEnded = ended.slice(e, e + PAGE - ofDue.length);
    [d, e] = [d + ofDue.length, e + ofEnded.length];
    pages.push([...new Set([...ofDue, ...ofEnded])]);
  }
  return pages;
}

const FIND_DUE = `
select id, tenant_id as "tenantID" from cron_job where due_at <= now() order by due_at limit $1`;

const FIND_ENDED = `
select distinct cron_job_id as id, tenant_id as "tenantID" from (select cron_job_id, tenant_id from cron_end order by cron_job_id limit $1) ended`;
