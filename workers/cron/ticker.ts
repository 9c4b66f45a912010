import type { Pool } from '#shared/db/pool.ts';
import type { Logger } from '#shared/logger.ts';
import type { Rights } from '#shared/policy/rights.ts';
import type { Runs } from '#shared/runs.ts';
import { createRunsInFlight } from '#shared/runs-in-flight.ts';
import { type LookNeeds, lookAt } from './look.ts';
import { inTenantTurns } from './turns.ts';

/** Jobs of one transaction. */
const PAGE = 50;
/** Jobs that one look finds; those behind them are found by the next. */
const MAX_FOUND = 20_000;

interface Needs {
  pool: Pool;
  runs: Pick<Runs, 'end' | 'refill'>;
  rights: Rights;
  lateMs: number;
  logger: Logger;
}

/** Starts the ticks of cron jobs. Any worker may do so at any time; they share the work by rows that they lock. */
export interface Ticker {
  /** Looks at every job that is due, or whose work has ended. Calls meanwhile lead to one further look. */
  ring(): Promise<void>;
  /** Totals so far, for metrics. */
  readonly stats: { started: number; looks: number };
}

export function createTicker({ pool, runs, rights, lateMs, logger }: Needs): Ticker {
  const needs: LookNeeds = { pool, rights, lateMs, inFlight: createRunsInFlight(pool) };
  const stats = { started: 0, looks: 0 };
  let ringing: Promise<void> | undefined;
  let isWanted = false;

  async function rounds(): Promise<void> {
    while (isWanted) {
      isWanted = false;
      await look();
    }
  }

  async function look(): Promise<void> {
    const ids = await findJobs(pool);
    stats.looks += 1;
    for (let at = 0; at < ids.length; at += PAGE) {
      const { started, toCancel } = await lookAt(needs, ids.slice(at, at + PAGE));
      stats.started += started;
      // After the commit: without it the sweep would end them, by the notes.
      if (toCancel.length > 0) await runs.end({ tenantID: null, ids: toCancel, status: 'CANCELLED', error: null });
      if (started > 0)
        await runs.refill().catch((error) => logger.debug({ err: error }, 'refill is left to the sweep'));
    }
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

/** Jobs to look at, one of each tenant and then the next of each. Workers begin with different tenants. */
async function findJobs(pool: Pool): Promise<string[]> {
  const ended = await pool.query<Found>({ name: 'cron_find_ended', text: FIND_ENDED, values: [MAX_FOUND] });
  const due = await pool.query<Found>({ name: 'cron_find_due', text: FIND_DUE, values: [MAX_FOUND] });
  return inTenantTurns([...new Map([...ended.rows, ...due.rows].map((found) => [found.id, found])).values()]);
}

const FIND_DUE = `
select id, tenant_id as "tenantID" from cron_job where due_at <= now() order by due_at limit $1`;

const FIND_ENDED = `
select distinct cron_job_id as id, tenant_id as "tenantID" from (select cron_job_id, tenant_id from cron_end order by cron_job_id limit $1) ended`;
