import type { Pool } from '#shared/db/pool.ts';

export interface OpenTicks {
  cronJobID: string;
  running: number;
  waiting: number;
}

/** Counts the ticks of jobs whose work is under way, and the ticks that wait for that work to end. */
export async function countOpenTicks(
  pool: Pool,
  cronJobIDs: readonly string[],
): Promise<ReadonlyMap<string, OpenTicks>> {
  const { rows } = await pool.query<OpenTicks>(OPEN, [cronJobIDs]);
  return new Map(rows.map((row) => [row.cronJobID, row]));
}

const OPEN = `
select cron_job_id as "cronJobID", count(*) filter (where outcome <> 'queued')::int as running, count(*) filter (where outcome = 'queued')::int as waiting
from cron_tick where cron_job_id = any($1::uuid[]) and status = 'SCHEDULED' group by cron_job_id`;
