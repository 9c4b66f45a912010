import type { Rights } from '#shared/access/policy/rights.ts';
import { Tally } from '#shared/core/counter.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Runs } from '#shared/runs/runs.ts';
import { createRunsInFlight } from '#shared/tenants/counted-quotas.ts';
import { type LookNeeds, lookAt } from './poll-due.ts';
import { inTenantTurns } from './tenant-order.ts';

/** Jobs of one transaction. */
const PAGE = 50;
/** Of them at least those whose work has ended. With more, a herd would take as long again to be started. */
const ENDED = 5;
const LOOK_MS = 1_000;
/** Jobs that one look finds; those behind them are found by the next. */
const MAX_FOUND = 20_000;

interface Needs {
  pool: Pool;
  runs: Pick<Runs, 'end' | 'refill'>;
  rights: Rights;
  lateMs: number;
  /** After so long jobs are looked for again: one that is due by now must not wait for the rest of a herd. */
  lookMs?: number;
  logger: Logger;
}

/** Starts the ticks of cron jobs. Any worker may do so at any time; they share the work by rows that they lock. */
export interface Ticker {
  /** Looks at every job that is due, or whose work has ended. Calls meanwhile lead to one further look. */
  ring(): Promise<void>;
  /** Totals so far, for metrics: ticks by what was decided, and how late those were that were fired in their time. */
  readonly stats: { ticks: Tally<'outcome'>; lateSeconds: number };
}

export function createTicker({ pool, runs, rights, lateMs, lookMs = LOOK_MS, logger }: Needs): Ticker {
  const needs: LookNeeds = { pool, rights, lateMs, inFlight: createRunsInFlight(pool) };
  const stats = { ticks: new Tally<'outcome'>(), lateSeconds: 0 };
  let ringing: Promise<void> | undefined;
  let isWanted = false;

  async function rounds(): Promise<void> {
    while (isWanted) {
      isWanted = false;
      while (await look());
    }
  }

  /** Whether there is more to look at. */
  async function look(): Promise<boolean> {
    const began = performance.now();
    let locked = 0;
    for (const page of await findPages(pool)) {
      if (locked > 0 && performance.now() - began >= lookMs) return true;
      const { started, toCancel, ...looked } = await lookAt(needs, page);
      locked += looked.locked;
      for (const outcome of looked.outcomes) stats.ticks.add({ outcome });
      stats.lateSeconds += looked.lateMs / 1_000;
      // After the commit: without it the sweep would end them, by the notes.
      if (toCancel.length > 0) await runs.end({ tenantID: null, ids: toCancel, status: 'CANCELLED', error: null });
      if (started > 0)
        await runs.refill().catch((error) => logger.debug({ err: error }, 'refill is left to the sweep'));
    }
    return false;
  }

  return {
    stats,
    ring() {
      isWanted = true;
      ringing ??= rounds().finally(() => {
        ringing = undefined;
      });
      return ringing;
    },
  };
}

interface Found {
  id: string;
  tenantID: string;
}

/** Pages of jobs to look at, one of each tenant and then the next of each. Workers begin with different tenants. */
async function findPages(pool: Pool): Promise<string[][]> {
  const found = await pool.query<Found>({ name: 'cron_find_ended', text: FIND_ENDED, values: [MAX_FOUND] });
  const ended = inTenantTurns(found.rows);
  const due = inTenantTurns(
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
