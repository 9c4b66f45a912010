import { newID } from '#shared/core/ids.ts';
import type { Pool } from '#shared/db/pool.ts';

/** Rows that one statement writes. */
const CHUNK = 50_000;

/**
 * Writes runs that no worker will begin. Half of them are queued; of the others each third waits for a time, for an answer, or for a
 * child that waits for a time.
 */
export async function addWaitingRuns(
  { pool, tenantID }: { pool: Pool; tenantID: string },
  count: number,
): Promise<void> {
  if (count === 0) return;
  const versionID = newID();
  await pool.query(`insert into workflow_version (id, tenant_id, nodes, edges) values ($1, $2, '[]', '[]')`, [
    versionID,
    tenantID,
  ]);
  for (let left = count; left > 0; left -= CHUNK)
    await pool.query(INSERT, [tenantID, versionID, Math.min(left, CHUNK)]);
  for (const table of ['workflow_instance', 'run_wait', 'collection_request'])
    await pool.query(`vacuum analyze ${table}`);
}

const INSERT = `
with made as (
  select n, uuidv7() as id, uuidv7() as ref, now() + make_interval(hours => 1, secs => n / 1000.0) as later,
         now() + make_interval(days => 7, secs => n / 1000.0) as deadline,
         case when n % 2 = 0 then 'queued' when n % 6 = 1 then 'time' when n % 6 = 3 then 'input' else 'child' end as what
  from generate_series(1, $3::int) n
),
runs as (
  insert into workflow_instance (id, tenant_id, version_id, status, ready_at, started_at, wake_at, parent_id, deadline_at, caller, seq, epoch)
  select id, $1::uuid, $2::uuid, case what when 'queued' then 'PENDING' else 'WAITING' end,
         case what when 'queued' then now() - make_interval(secs => n / 1000.0) end, case what when 'queued' then null else now() end,
         case what when 'time' then later end, null::uuid, deadline, '{}'::jsonb, 3, 1
  from made
  union all
  select ref, $1::uuid, $2::uuid, 'WAITING', null, now(), later, id, deadline, '{}', 3, 1 from made where what = 'child'
),
requests as (
  insert into collection_request (id, tenant_id, instance_id, node_id, collection_type, collection_config)
  select ref, $1::uuid, id, 'ask', 'form', '{}' from made where what = 'input'
)
insert into run_wait (instance_id, node_id, kind, ref, due_at)
select id, 'wait', what, case what when 'time' then null else ref end, case what when 'time' then later end from made where what <> 'queued'
union all
select ref, 'wait', 'time', null, later from made where what = 'child'`;
