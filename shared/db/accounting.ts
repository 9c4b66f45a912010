import type { Pool } from './pool.ts';
import { inTransaction } from './pool.ts';

/** What will continue a run that has not ended: a worker, a place in the queue, the end of a pause, a time, or a wait of one of its nodes. */
const CONTINUES = `(ready_at is not null or kept_since is not null or held_by is not null or wake_at is not null
  or exists (select from run_wait w where w.instance_id = i.id))`;

export interface HourOfRuns {
  hour: Date;
  origin: 'workflow' | 'appPage' | 'listener' | 'cron' | 'direct';
  accepted: number;
  completed: number;
  failed: number;
  cancelled: number;
  inFlight: number;
  difference: number;
}

/** Longer than this, and the period is too long for so many runs. */
const MAX_SECONDS = 10;

/** Counts the runs that were accepted in a period, by hour and origin, each by its own row. Chunks of a map are parts of its run. Without a tenant: of all. */
export function accountFor(
  pool: Pool,
  { tenantID, from, to }: { tenantID?: string; from: Date; to: Date },
): Promise<HourOfRuns[]> {
  return inTransaction(pool, async (client) => {
    await client.query(`set local statement_timeout = '${MAX_SECONDS}s'`);
    const { rows } = await client.query<HourOfRuns>(
      tenantID === undefined
        ? account(IDS_BETWEEN)
        : account('tenant_id = $3 and created_at >= $1 and created_at < $2'),
      tenantID === undefined
        ? [from, to, idAt(from.getTime() - MARGIN_MS), idAt(to.getTime() + MARGIN_MS)]
        : [from, to, tenantID],
    );
    return rows;
  });
}

/** Ids are made before the row, and by another clock. */
const MARGIN_MS = 600_000;
const IDS_BETWEEN = 'id >= $3::uuid and id < $4::uuid and created_at >= $1 and created_at < $2';

/** The smallest id of a moment. */
function idAt(ms: number): string {
  const time = Math.max(0, ms).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}

const account = (where: string) => `
select hour, origin, accepted, completed, failed, cancelled, "inFlight", accepted - completed - failed - cancelled - "inFlight" as difference
from (
  select date_trunc('hour', created_at, 'UTC') as hour, coalesce(caller ->> 'origin', 'direct') as origin, count(*)::int as accepted,
    count(*) filter (where completed_at is not null and status = 'COMPLETED')::int as completed,
    count(*) filter (where completed_at is not null and status = 'FAILED')::int as failed,
    count(*) filter (where completed_at is not null and status = 'CANCELLED')::int as cancelled,
    count(*) filter (where completed_at is null and status in ('PENDING', 'RUNNING', 'WAITING') and ${CONTINUES})::int as "inFlight"
  from workflow_instance i where map_id is null and ${where} group by 1, 2
) counted order by 1, 2`;

/** Runs without a worker, a place in the queue or a time: those that a pause keeps, those that wait for a child or an answer, and those that nothing continues. */
export const LEFT = 'completed_at is null and ready_at is null and held_by is null and wake_at is null';

/** Of a slice of such runs after `$1`, in the order of their ids: the last id, and those that nothing continues. */
export const FIND_FORGOTTEN = `
select max(id::text)::uuid as last, count(*)::int as looked_at,
  (array_agg(id) filter (where is_forgotten))[1:20] as ids, count(*) filter (where is_forgotten)::int as forgotten
from (select id, kept_since is null and not exists (select from run_wait w where w.instance_id = i.id) as is_forgotten from workflow_instance i where ${LEFT} and id > $1::uuid order by id limit $2) slice`;
