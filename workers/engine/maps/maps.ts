import { createBatcher } from '#shared/concurrency/batcher.ts';
import { newID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';
import { inTransaction, type Pool, type PoolClient } from '#shared/db/pool.ts';
import type { Runs } from '#shared/runs/runs.ts';
import type { MapOutcome } from '../../nodes/executor.ts';

export interface Maps {
  /**
   * Counts the chunks of a map that have ended, starts as many others as its concurrency allows, and wakes the run when the last has ended
   * or too many items have failed. Never throws: if it fails, the sweep does the same later.
   */
  advance(mapID: string): Promise<void>;
  /** Stops the chunks of a map that have not ended. */
  stop(mapID: string): Promise<void>;
  /** Advances the maps that no process has advanced, because it died or lost the database before. Returns how many. */
  advanceForgotten(): Promise<number>;
}

interface Dependencies {
  pool: Pool;
  runs: Pick<Runs, 'dispatch' | 'wake' | 'end'>;
  logger: Logger;
}

const FORGOTTEN_LIMIT = 100;

export function createMaps({ pool, runs, logger }: Dependencies): Maps {
  // Chunks that end in one round of the event loop, or during the transaction before, are counted by one statement.
  const advances = createBatcher(async (ids: string[]) => {
    for (const id of new Set(ids)) await advanceOne(id);
    return ids;
  });

  async function advanceOne(mapID: string): Promise<void> {
    const { started, wakes, stops } = await inTransaction(pool, (client) => count(client, mapID));
    if (started.length > 0) await runs.dispatch(started);
    if (stops) await stop(mapID);
    if (wakes !== null) await runs.wake([wakes]);
  }

  async function count(client: PoolClient, mapID: string): Promise<Advanced> {
    // Once the lock is acquired, the statements that follow see the changes of all transactions that had it before.
    const locked = await client.query<LockedRow>({ name: 'lock_map', text: LOCK, values: [mapID] });
    const [run] = locked.rows;
    if (!run) return { started: [], wakes: null, stops: false };
    const counted = await client.query<CountedRow>({
      name: 'count_chunks',
      text: COUNT,
      values: [mapID, run.is_live],
    });
    const [map] = counted.rows;
    if (!map || !run.is_live) return { started: [], wakes: null, stops: false };
    if (map.is_over_now) {
      await client.query({ name: 'notice_of_map', text: ADD_OUTBOX_ENTRY, values: [run.id] });
      return { started: [], wakes: run.id, stops: map.outcome !== 'done' };
    }
    if (map.outcome !== null) return { started: [], wakes: null, stops: false };
    const capacity = Math.min(map.concurrency - (map.started - map.ended), map.chunks - map.started);
    const ids = Array.from({ length: Math.max(0, capacity) }, () => newID());
    if (ids.length > 0)
      await client.query({ name: 'start_chunks', text: START, values: [mapID, run.id, ids, map.started] });
    if (map.reports) await client.query({ name: 'report_map', text: REPORT, values: [mapID, run.id] });
    return { started: ids, wakes: null, stops: false };
  }

  async function stop(mapID: string): Promise<void> {
    const { rows } = await pool.query<{ id: string }>({ name: 'open_chunks', text: OPEN, values: [mapID] });
    const ids = rows.map(({ id }) => id);
    if (ids.length === 0) return;
    await runs.end({ tenantID: null, ids, status: 'CANCELLED', error: null });
    await advanceOne(mapID);
  }

  return {
    stop,
    async advance(mapID) {
      try {
        await advances(mapID);
      } catch (error) {
        logger.warn({ err: error, mapID }, 'chunks of a map are left to the sweep');
      }
    },
    async advanceForgotten() {
      const { rows } = await pool.query<{ id: string }>({
        name: 'sweep_find_maps',
        text: FIND_LEFT,
        values: [FORGOTTEN_LIMIT],
      });
      for (const { id } of rows) await advances(id);
      return rows.length;
    },
  };
}

interface Advanced {
  started: string[];
  /** The run to wake. */
  wakes: string | null;
  /** Whether the chunks that have not ended are to be stopped. */
  stops: boolean;
}

interface LockedRow {
  id: string;
  is_live: boolean;
}

interface CountedRow {
  outcome: MapOutcome | null;
  is_over_now: boolean;
  concurrency: number;
  chunks: number;
  started: number;
  ended: number;
  reports: boolean;
}

// A run that was cancelled before this lock is not live, and no chunk starts. A later cancel finds the chunks that start under this lock.
const LOCK = `
select i.id, i.completed_at is null as is_live from run_map m join workflow_instance i on i.id = m.instance_id
where m.id = $1 for no key update of i`;

// The update that clears `due` of a chunk counts it, so each chunk is counted once.
const COUNT = `
with ended as (
  update map_chunk set due = null where due = $1 returning status, size, failed, result_size
),
sum as (
  select count(*)::int as chunks, coalesce(sum(size) filter (where status <> 'CANCELLED'), 0)::int as items,
    coalesce(sum(failed), 0)::int as failed, coalesce(sum(result_size), 0) as result_size,
    coalesce(bool_or(status = 'CANCELLED'), false) as is_stopped
  from ended
),
earlier as (select outcome from run_map where id = $1)
update run_map m set
  ended = m.ended + sum.chunks, done_items = m.done_items + sum.items, failed_items = m.failed_items + sum.failed,
  result_size = m.result_size + sum.result_size,
  outcome = coalesce(m.outcome, case
    when not $2::boolean or sum.is_stopped then 'stopped'
    when m.failed_items + sum.failed > m.tolerated then 'failed'
    when m.result_size + sum.result_size > m.max_result_size then 'large'
    when m.ended + sum.chunks = m.chunks then 'done' end),
  reported_at = case when sum.chunks > 0 and m.reported_at < now() - interval '1 second' then now() else m.reported_at end
from sum, earlier where m.id = $1
returning m.outcome, m.outcome is not null and earlier.outcome is null as is_over_now, m.concurrency, m.chunks, m.started, m.ended,
  sum.chunks > 0 and m.reported_at = now()::timestamptz(3) as reports`;

// The wake deletes the row. If this process dies before the wake, the sweep finds the row and wakes the run.
const ADD_OUTBOX_ENTRY = `insert into run_notice (instance_id, kind) values ($1, 'wake')`;

// A chunk is a part of its parent run: it has no limits and no concurrency key of its own, only keys that the parent has already, and the caller
// and the deadline of the parent.
const START = `
with named as (
  update map_chunk c set instance_id = s.id from unnest($3::uuid[]) with ordinality as s(id, k)
  where c.map_id = $1 and c.n = $4::int + s.k and c.instance_id is null
  returning c.instance_id, c.n
),
counted as (update run_map set started = started + (select count(*) from named) where id = $1)
insert into workflow_instance (
  id, tenant_id, creator_id, workflow_id, version_id, is_test, class, ready_at, deadline_at, parent_id, parent_node_id, depth, caller, input,
  head_start, held_keys, map_id)
select named.instance_id, p.tenant_id, p.creator_id, p.workflow_id, p.version_id, p.is_test, p.class, now(), p.deadline_at, p.id, m.node_id, p.depth,
  p.caller, '{}', p.head_start, p.held_keys, m.id
from named join run_map m on m.id = $1 join workflow_instance p on p.id = $2
order by named.n`;

// Only while no worker owns the run: an owner numbers the events itself, and would not know of this one.
const REPORT = `
with told as (
  update workflow_instance set seq = seq + 1, updated_at = now() where id = $2 and case when held_by is null and completed_at is null then true else false end
  returning id, seq, status
)
insert into run_event (instance_id, seq, node_id, iteration, frame, attempt, status, payload)
select told.id, told.seq, m.node_id, coalesce((m.frame #>> '{-1,iteration}')::int, 0), m.frame, m.attempt, 'SUSPENDED',
  jsonb_build_object('wait', 'chunks', 'mapID', m.id, 'progress',
    jsonb_build_object('done', m.done_items, 'total', m.items, 'failed', m.failed_items))
    || case when told.status = 'WAITING' then '{"stillWaits": true}'::jsonb else '{}' end
from told join run_map m on m.id = $1`;

// Conditions in a `case` match no partial index. The planner would read such an index as a whole.
const OPEN = `
select i.id from map_chunk c join workflow_instance i on i.id = c.instance_id
where c.map_id = $1 and case when c.ended_at is null and i.completed_at is null then true else false end`;

const FIND_LEFT = `
(select distinct due as id from map_chunk where due is not null and ended_at < now() - interval '2 seconds' limit $1)
union
(select id from run_map where started = 0 and outcome is null and created_at < now() - interval '2 seconds' order by created_at limit $1)`;
