import type { Pool } from '#shared/db/pool.ts';
import type { Runs } from '#shared/runs/runs.ts';

export interface TickCounts {
  SCHEDULED: number;
  SUCCESS: number;
  FAILURE: number;
}

const NONE: TickCounts = { SCHEDULED: 0, SUCCESS: 0, FAILURE: 0 };

/** Ticks of backfills by their status. */
export async function countTicks(pool: Pool, ids: readonly string[]): Promise<(id: string) => TickCounts> {
  const { rows } = await pool.query<{ id: string; status: keyof TickCounts; n: number }>(COUNT, [ids]);
  const counts = new Map<string, TickCounts>();
  for (const { id, status, n } of rows) counts.set(id, { ...(counts.get(id) ?? NONE), [status]: n });
  return (id) => counts.get(id) ?? NONE;
}

const COUNT = `
select backfill_id as id, status, count(*)::int as n from cron_tick where backfill_id = any($1::uuid[]) group by 1, 2`;

/** Ends the ticks of a backfill that was marked as cancelled: those that wait at once, others by the end of their runs. */
export async function endTicks(
  { pool, runs }: { pool: Pool; runs: Pick<Runs, 'end'> },
  { id, reason }: { id: string; reason: string },
): Promise<void> {
  const { rows } = await pool.query<{ instance_id: string }>(END, [id, reason]);
  const ids = rows.map((row) => row.instance_id);
  if (ids.length > 0) await runs.end({ tenantID: null, ids, status: 'CANCELLED', error: null });
}

// Ticks between two attempts are ended too: they have no run that could be cancelled.
const END = `
with job as (select j.id from cron_job j join cron_backfill b on b.cron_job_id = j.id where b.id = $1 for no key update of j),
ended as (
  update cron_tick t set status = 'FAILURE', outcome = case when outcome = 'queued' then 'skipped' else outcome end, reason = $2, start_at = null,
    finished_at = now(), error = jsonb_build_object('code', 'CANCELLED', 'message', $2::text)
  from job where t.cron_job_id = job.id and t.backfill_id = $1 and t.status = 'SCHEDULED' and (t.outcome = 'queued' or t.start_at is not null)
  returning t.id
)
select t.instance_id from cron_tick t
where t.backfill_id = $1 and t.status = 'SCHEDULED' and t.instance_id is not null and t.id not in (select id from ended)`;
