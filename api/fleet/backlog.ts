import type { Pool } from '#shared/db/pool.ts';
import { CREATOR, QUEUE_ID, WITHHELD } from '#shared/runs/dispatch/dispatch-window.ts';
import { QUEUED } from '#shared/runs/dispatch/fair-dispatch.ts';

/** Queues of runs that are counted at most; the runs of one tenant, workflow and class are a queue. */
const MAX_QUEUES = 500;
/** Runs of one queue that are counted at most. */
const PER_QUEUE = 200;
/** Runs that are counted at most in each other state, such as paused. */
const OF_STATE = 2_000;
/** Rows that are counted at most of work that is not a run, such as due cron jobs. */
const OF_OTHERS = 10_000;

/** Work that has not begun, of one tenant, queue, class and state. */
export interface BacklogRow {
  queue: string;
  class: string | null;
  /** `queued`, `blocked` by a key, `paused`, `suspect` after a lost worker, or `handed over` to the workers. */
  state: string;
  tenantID: string | null;
  count: number;
  oldest: Date;
  /** Whether there is more than was counted. */
  isCut: boolean;
}

/** Counts everything that waits. The cost depends on the number of queues, not on how much waits in one. */
export async function readBacklog(pool: Pool): Promise<BacklogRow[]> {
  const { rows: runs } = await pool.query<BacklogRow>(RUNS);
  const { rows: others } = await pool.query<BacklogRow>(OTHERS);
  return [...runs, ...others];
}

/**
 * SQL: since when a run waits. While it is paused, since then. Before its first start, since it might begin: a failed attempt to start
 * moves `ready_at`. Later, since `ready_at`, or if that is in the future, since the last update, when the worker released it.
 */
export const WAITS_SINCE = `
  coalesce(
    kept_since,
    case
      when started_at is null then greatest(created_at, start_at)
      when ready_at <= now() then ready_at
      else updated_at
    end)`;

const POSITION = `${CREATOR} as creator_id, tenant_id, ${QUEUE_ID} as queue_id, class`;
const ORDER = `${CREATOR}, tenant_id, ${QUEUE_ID}, class`;

const some = (state: string, condition: string, order: string) => `
  select '${state}', tenant_id, class, count(*)::int, min(since), sum(count(*)) over () > ${OF_STATE}
  from (select tenant_id, class, ${WAITS_SINCE} as since from workflow_instance where ${condition} order by ${order} limit ${OF_STATE + 1}) found
  group by tenant_id, class`;

const RUNS = `
with recursive line as (
  (select 1 as n, ${POSITION} from workflow_instance where ${QUEUED} order by ${ORDER} limit 1)
  union all
  select l.n + 1, next.* from line l cross join lateral (
    select ${POSITION} from workflow_instance
    where ${QUEUED} and (${ORDER}) > (l.creator_id, l.tenant_id, l.queue_id, l.class) order by ${ORDER} limit 1
  ) next where l.n < ${MAX_QUEUES}
),
found (state, tenant_id, class, count, oldest, is_cut) as (
  select 'queued', l.tenant_id, l.class, sum(of_queue.count)::int, min(of_queue.oldest), bool_or(of_queue.count > ${PER_QUEUE}) or max(l.n) = ${MAX_QUEUES}
  from line l cross join lateral (
    select count(*) as count, min(since) as oldest from (
      select ${WAITS_SINCE} as since from workflow_instance
      where ${QUEUED} and ${CREATOR} = l.creator_id and tenant_id = l.tenant_id and ${QUEUE_ID} = l.queue_id and class = l.class
      order by (ready_at - '2000-01-01 00:00:00+00'::timestamptz - make_interval(secs => head_start)) limit ${PER_QUEUE + 1}
    ) counted
  ) of_queue
  where of_queue.count > 0 group by l.tenant_id, l.class
  union all ${some('blocked', 'is_blocked and completed_at is null', 'tenant_id, concurrency_key')}
  union all ${some('paused', WITHHELD, `${QUEUE_ID}, kept_since, id`)}
  union all ${some('suspect', 'losses > 0 and ready_at is not null and held_by is null', 'ready_at')}
  union all ${some('handed over', 'dispatched_at is not null', 'dispatched_at')}
)
select 'workflow.runs' as queue, class, state, tenant_id as "tenantID", count, oldest, is_cut as "isCut" from found order by oldest`;

const ofQueue = (queue: string, found: string, max = OF_OTHERS) => `
  select '${queue}' as queue, null as class, 'queued' as state, tenant_id as "tenantID", count(*)::int as count, min(since) as oldest,
    sum(count(*)) over () > ${max} as "isCut"
  from (${found} limit ${max + 1}) found group by tenant_id`;

// Events of listeners are indexed by tenant, so tenants are visited one after another.
const EVENTS = `
with recursive of_tenant as (
  (select 1 as n, tenant_id from listener_event where dispatched_at is null and finished_at is null order by tenant_id limit 1)
  union all
  select o.n + 1, next.tenant_id from of_tenant o cross join lateral (
    select tenant_id from listener_event
    where dispatched_at is null and finished_at is null and tenant_id > o.tenant_id order by tenant_id limit 1
  ) next where o.n < ${MAX_QUEUES}
)
select 'listener.events' as queue, null::text as class, 'queued' as state, o.tenant_id as "tenantID", e.count, e.oldest,
  e.count > ${PER_QUEUE} or o.n = ${MAX_QUEUES} as "isCut"
from of_tenant o cross join lateral (
  select count(*)::int as count, min(received_at) as oldest from (
    select received_at from listener_event where tenant_id = o.tenant_id and dispatched_at is null and finished_at is null
    order by ready_at, id limit ${PER_QUEUE + 1}
  ) counted
) e where e.count > 0`;

const OTHERS = `
select * from (${EVENTS}) events
union all ${ofQueue('cron.ticks', 'select tenant_id, due_at as since from cron_job where due_at <= now() order by due_at')}
union all ${ofQueue('completion webhooks', 'select tenant_id, next_at as since from run_delivery where next_at <= now() order by next_at')}
union all ${ofQueue('imports of bundles', 'select tenant_id, created_at as since from import_job where ended_at is null order by created_at')}`;
