import { nodeEvents } from './db/node-events.ts';
import { inTransaction, type Pool } from './db/pool.ts';
import { storableJSON } from './db/storable.ts';
import type { JsonObject } from './json.ts';

/** The runs to end, and how. With a tenant, the ids of other tenants are ignored. */
export interface Ending {
  tenantID: string | null;
  ids: readonly string[];
  status: 'CANCELLED' | 'FAILED';
  error: JsonObject | null;
}

/**
 * Ends runs and their descendants, parents first, one level per transaction, so that no transaction locks a parent and a child
 * at once. The raised epoch fences the holder. Returns the ids that were ended.
 */
export async function endTree(pool: Pool, ending: Ending): Promise<string[]> {
  const ended: string[] = [];
  let level = [...ending.ids];
  let { status, error } = ending;
  while (level.length > 0) {
    ended.push(...(await endLevel(pool, { ...ending, ids: level, status, error })));
    const children = await pool.query<{ id: string }>(
      'select id from workflow_instance where parent_id = any($1::uuid[]) and completed_at is null',
      [level],
    );
    level = children.rows.map(({ id }) => id);
    status = 'CANCELLED';
    error = null;
  }
  return ended;
}

/** Locks in one statement and reads in the next, which then sees a commit that the holder made before the lock. */
function endLevel(pool: Pool, { tenantID, ids, status, error }: Ending): Promise<string[]> {
  return inTransaction(pool, async (client) => {
    const live = await client.query<{ id: string }>(LOCK_LIVE, [ids, tenantID]);
    const locked = live.rows.map(({ id }) => id);
    if (locked.length > 0) await client.query(END, [locked, status, error && storableJSON(JSON.stringify(error))]);
    return locked;
  });
}

const LOCK_LIVE = `
select id from workflow_instance
where id = any($1::uuid[]) and ($2::uuid is null or tenant_id = $2) and completed_at is null
order by id for no key update`;

// A node in flight gets a CANCELLED event (its side effect may have happened), then the run gets its own.
const END = `
with open_node as (
  select e.instance_id, e.node_id, e.iteration, e.frame, e.attempt,
         row_number() over (partition by e.instance_id order by e.node_id, e.frame) as n
  from (
    select distinct on (instance_id, node_id, frame) instance_id, node_id, iteration, frame, attempt, status
    from (${nodeEvents('e.instance_id = any($1::uuid[])')}) each
    order by instance_id, node_id, frame, seq desc
  ) e
  where e.status in ('RUNNING', 'SUSPENDED')
),
ended as (
  update workflow_instance i
  set status = $2, epoch = epoch + 1, held_by = null, ready_at = null, dispatched_at = null, wake_at = null,
      seq = i.seq + 1 + (select count(*) from open_node o where o.instance_id = i.id),
      error = $3::jsonb, completed_at = now(), updated_at = now()
  where id = any($1::uuid[])
  returning id, seq, (select count(*) from open_node o where o.instance_id = i.id) as nodes
),
node_events as (
  insert into run_event (instance_id, seq, node_id, iteration, frame, attempt, status)
  select e.id, e.seq - 1 - e.nodes + o.n, o.node_id, o.iteration, o.frame, o.attempt, 'CANCELLED'
  from ended e join open_node o on o.instance_id = e.id
),
run_events as (
  insert into run_event (instance_id, seq, status, payload)
  select id, seq, $2, case when $3::jsonb is not null then jsonb_build_object('error', $3::jsonb) end from ended
),
waits as (delete from run_wait where instance_id = any($1::uuid[])),
checkpoints as (delete from run_checkpoint where instance_id = any($1::uuid[])),
requests as (
  update collection_request set status = 'CANCELLED', updated_at = now() where instance_id = any($1::uuid[]) and status = 'PENDING'
),
told as (delete from run_notice where instance_id = any($1::uuid[]))
select id from ended`;
