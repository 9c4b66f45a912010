import type { Pool } from '../../db/pool.ts';
import type { Runs } from '../runs.ts';

type EndsRuns = Pick<Runs, 'end'>;

/** Runs that are ended by one statement. */
const AT_ONCE = 250;
/** Seconds without a sign of life after which another process continues the cancellation of a batch. */
const TAKE_UP_S = 10;

/** Marks a batch as cancelled. Returns whether the tenant has such a batch. */
export async function markCancelled(
  pool: Pool,
  { tenantID, batchID, userID }: Record<'tenantID' | 'batchID' | 'userID', string>,
): Promise<boolean> {
  const { rowCount } = await pool.query(MARK, [batchID, tenantID, userID]);
  return rowCount === 1;
}

/**
 * Ends the open runs of a cancelled batch, and marks the batch as stopped when none is left. Ends at most `pages` pages of runs: a worker
 * ends the others (`resumeCancels`). May be interrupted at any point and called again, also by several processes at once.
 */
export async function endCancelled(
  { pool, runs }: { pool: Pool; runs: EndsRuns },
  { tenantID, batchID, pages = Number.POSITIVE_INFINITY }: { tenantID: string; batchID: string; pages?: number },
): Promise<void> {
  for (let page = 0; page < pages; page += 1) {
    const { rows } = await pool.query<{ id: string }>(OPEN, [batchID, AT_ONCE]);
    if (rows.length === 0) {
      await pool.query('update run_batch set stopped_at = now() where id = $1 and cancelled_at is not null', [batchID]);
      return;
    }
    await runs.end({ tenantID, ids: rows.map(({ id }) => id), status: 'CANCELLED', error: null });
    // The sign of life of this process.
    await pool.query('update run_batch set updated_at = now() where id = $1', [batchID]);
  }
}

/** Continues cancellations whose process has died or has stopped after its pages. Returns the number of batches. */
export async function resumeCancels(needs: { pool: Pool; runs: EndsRuns }): Promise<number> {
  const { rows } = await needs.pool.query<{ id: string; tenant_id: string }>(LEFT, [TAKE_UP_S]);
  for (const { id, tenant_id } of rows) await endCancelled(needs, { tenantID: tenant_id, batchID: id });
  return rows.length;
}

/** Runs of a batch by their status, without those that retention has deleted. */
export async function countByStatus(pool: Pool, batchID: string): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ status: string; n: number }>(COUNT, [batchID]);
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

/** Counts runs by status for several batches. Of each status it counts at most `max` + 1, because a batch may have a hundred thousand runs. */
export async function countsOf(
  pool: Pool,
  batchIDs: readonly string[],
  { max }: { max: number },
): Promise<ReadonlyMap<string, Record<string, number>>> {
  const values = [batchIDs, max + 1];
  const { rows } = await pool.query<{ id: string; counts: Record<string, number> }>(COUNTS, values);
  return new Map(rows.map(({ id, counts }) => [id, counts]));
}

const MARK = `
update run_batch set cancelled_at = coalesce(cancelled_at, now()), cancelled_by = coalesce(cancelled_by, $3), updated_at = now()
where id = $1 and tenant_id = $2`;

const OPEN = `
select id from workflow_instance
where batch_id = $1 and status = any('{PENDING,RUNNING,WAITING}') limit $2`;

// `endCancelled` sets `updated_at` with each page. A batch that is not stopped and was not updated for `$1` seconds has lost its process.
const LEFT = `
update run_batch set updated_at = now()
where id = any(array(
  select id from run_batch
  where cancelled_at is not null and stopped_at is null and updated_at < now() - make_interval(secs => $1)
  order by cancelled_at limit 10 for update skip locked))
returning id, tenant_id`;

const COUNTS = `
select b.id, jsonb_object_agg(s.status, (
  select count(*) from (select from workflow_instance i where i.batch_id = b.id and i.status = s.status limit $2) counted
)) as counts
from unnest($1::uuid[]) b(id) cross join unnest('{PENDING,RUNNING,WAITING,COMPLETED,FAILED,CANCELLED}'::text[]) s(status)
group by b.id`;

const COUNT = 'select status, count(*)::int as n from workflow_instance where batch_id = $1 group by status';
