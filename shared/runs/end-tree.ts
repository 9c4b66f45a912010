import type { JsonObject } from '../core/json.ts';
import { inTransaction, type Pool, type PoolClient } from '../db/pool.ts';
import { storableJSON } from '../db/storable.ts';
import { nodeEvents } from './node-event-rows.ts';

/** The runs to end, and how. With a tenant, the ids of other tenants are ignored. */
export interface Ending {
  tenantID: string | null;
  ids: readonly string[];
  status: 'CANCELLED' | 'FAILED';
  error: JsonObject | null;
  /** Whether nodes that were running or waiting are added to the error: for errors that no node has caused, such as a timeout. */
  namesNodes?: boolean;
}

/** Runs of one transaction. A run may have started thousands of others, and each transaction locks its runs until its end. */
const AT_ONCE = 500;

/**
 * Ends runs and their descendants, parents first; no transaction locks a parent and a child at once. Raising the epoch makes later commits
 * of the worker that owns a run fail. Yields the ids of the runs that each transaction has ended.
 */
export async function* endTree(pool: Pool, ending: Ending): AsyncGenerator<string[], void, void> {
  let level = [...ending.ids];
  let { status, error } = ending;
  while (level.length > 0) {
    for (let at = 0; at < level.length; at += AT_ONCE)
      yield await endSome(pool, { ...ending, ids: level.slice(at, at + AT_ONCE), status, error });
    const children = await pool.query<{ id: string }>(
      'select id from workflow_instance where parent_id = any($1::uuid[]) and completed_at is null',
      [level],
    );
    level = children.rows.map(({ id }) => id);
    status = 'CANCELLED';
    error = null;
  }
}

/** Locks in one statement and reads in the next, which then sees what the owning worker has committed before the lock. */
function endSome(pool: Pool, { tenantID, ids, status, error, namesNodes = false }: Ending): Promise<string[]> {
  return inTransaction(pool, async (client) => {
    const live = await client.query<{ id: string }>(LOCK_LIVE, [ids, tenantID]);
    const locked = live.rows.map(({ id }) => id);
    if (locked.length > 0) await endLocked(client, locked, { status, error, namesNodes });
    return locked;
  });
}

/** Ends runs that the transaction has locked, or has inserted itself. */
export async function endLocked(
  client: Pick<PoolClient, 'query'>,
  ids: readonly string[],
  { status, error, namesNodes = false }: Pick<Ending, 'status' | 'error' | 'namesNodes'>,
): Promise<void> {
  await client.query(END, [ids, status, error && storableJSON(JSON.stringify(error)), namesNodes]);
}

const LOCK_LIVE = `
select id from workflow_instance
where id = any($1::uuid[]) and ($2::uuid is null or tenant_id = $2) and completed_at is null
order by id for no key update`;

/** Nodes of a run that its error names. */
const MAX_NAMED = 3;

// A node that repeats a body is not named if a node in the body is. Running nodes are named before waiting ones.
const LOCATION = `
location as (
  select instance_id, jsonb_build_object(
    'nodeID', (array_agg(node_id order by rank))[1], 'attempt', (array_agg(attempt order by rank))[1],
    'frame', jsonb_agg(coalesce(frame, '[]') order by rank) -> 0,
    'message', $3::jsonb ->> 'message' || '. It was at ' || string_agg(to_json(node_id)::text, ', ' order by rank) filter (where rank <= ${MAX_NAMED})
      || case when count(*) > ${MAX_NAMED} then ' and ' || count(*) - ${MAX_NAMED} || ' more' else '' end
  ) as location
  from (
    select instance_id, node_id, attempt, frame, row_number() over (partition by instance_id order by status, n) as rank
    from (
      select distinct on (instance_id, node_id) * from open_node o
      where $4::boolean and not exists (
        select from open_node inside where inside.instance_id = o.instance_id
          and inside.frame @> jsonb_build_array(jsonb_build_object('nodeID', o.node_id))
      )
      order by instance_id, node_id, status, n
    ) node
  ) ranked
  group by instance_id
)`;

// A node in flight gets a CANCELLED event (its side effect may have happened), then the run gets its own.
const END = `
with open_node as (
  select e.instance_id, e.node_id, e.iteration, e.frame, e.attempt, e.status,
         row_number() over (partition by e.instance_id order by e.node_id, e.frame) as n
  from (
    select distinct on (instance_id, node_id, frame) instance_id, node_id, iteration, frame, attempt, status
    from (${nodeEvents('e.instance_id = any($1::uuid[])')}) each
    order by instance_id, node_id, frame, seq desc
  ) e
  where e.status in ('RUNNING', 'SUSPENDED')
),
${LOCATION},
ending as materialized (
  select r.id, coalesce(o.nodes, 0) as nodes, p.location
  from unnest($1::uuid[]) as r(id)
  left join (select instance_id, count(*) as nodes from open_node group by instance_id) o on o.instance_id = r.id
  left join location p on p.instance_id = r.id
),
ended as (
  update workflow_instance i
  set status = $2, epoch = epoch + 1, held_by = null, ready_at = null, dispatched_at = null, wake_at = null,
      seq = i.seq + 1 + e.nodes, error = $3::jsonb || coalesce(e.location, '{}'), completed_at = now(), updated_at = now()
  from ending e where i.id = e.id
  returning i.id, i.seq, i.error, e.nodes
),
node_events as (
  insert into run_event (instance_id, seq, node_id, iteration, frame, attempt, status)
  select e.id, e.seq - 1 - e.nodes + o.n, o.node_id, o.iteration, o.frame, o.attempt, 'CANCELLED'
  from ended e join open_node o on o.instance_id = e.id
),
run_events as (
  insert into run_event (instance_id, seq, status, payload)
  select id, seq, $2, case when error is not null then jsonb_build_object('error', error) end from ended
),
waits as (delete from run_wait where instance_id = any($1::uuid[])),
checkpoints as (delete from run_checkpoint where instance_id = any($1::uuid[])),
requests as (
  update collection_request set status = 'CANCELLED', updated_at = now() where instance_id = any($1::uuid[]) and status = 'PENDING'
),
told as (delete from run_notice where instance_id = any($1::uuid[]))
select id from ended`;
