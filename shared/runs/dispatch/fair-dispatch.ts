import {
  ALL_CREATORS,
  CREATOR,
  inWindow,
  isPaused,
  isTenantDeleting,
  isUnstartedRoot,
  QUEUE_ID,
  WINDOW,
} from './dispatch-window.ts';

/** A row of a dispatch's result: one for each run, and one for each reason to dispatch again. */
export interface DispatchRow {
  /**
   * `dispatched`: the run is in the window and gets a job. `dropped`, `failed`, `superseded`: the limit of its key is reached, so the run is
   * to be ended. `old`: the run holds the key that a newer run gets. `lock-busy`: another process dispatches. `partial`: runs were blocked
   * or unblocked, so the next dispatch finds other runs in the same queues. `unvisited`: there may be runs in queues not visited.
   */
  outcome: 'dispatched' | 'dropped' | 'failed' | 'superseded' | 'old' | 'lock-busy' | 'partial' | 'unvisited';
  id: string | null;
  tenant_id: string | null;
  class: string | null;
  epoch: number | null;
  /** The priority of the job. */
  priority: number | null;
  concurrency_key: string | null;
  /** The limit of the key. */
  max: number | null;
}

/** Creators that one dispatch visits, however many runs, workflows and tenants wait; the next dispatch continues after the last of them. */
const CREATORS = 32;
/** Queues, one for each workflow, that one dispatch visits for a creator. */
const MAX_QUEUES = 4;
/** Runs of a queue and class that are read in excess of twice the queue's share of the free capacity, since some may wait for their key. */
const SPARE = 5;
/** Freed concurrency keys that one dispatch handles. */
const FREED_KEYS = 200;
const NO_LIMIT = 2_147_483_647;

// The predicate and the expressions of the index `workflow_instance_queue`. Without CASE, the condition would fit the index of all READY
// runs too. In a table without statistics the planner chose that index and sorted all READY runs, 25 times in a dispatch: with 3,000 runs
// a dispatch took 9 ms instead of 1.
export const QUEUED = `
  case when ready_at is not null and held_by is null and dispatched_at is null and losses = 0 and not is_blocked then true else false end`;
const EPOCH = `'2000-01-01 00:00:00+00'::timestamptz`;
/** The order of runs in a queue: when the run became READY, less its head start. */
export const QUEUED_SINCE = `(ready_at - ${EPOCH} - make_interval(secs => head_start))`;

/** Whether a run counts towards the limit of its concurrency key. */
export const HOLDS_KEY = 'completed_at is null and (started_at is not null or dispatched_at is not null)';

/** The next creator with queued runs, or again the first. */
const creatorAfter = (creator: string) => `
  coalesce(
    (select ${CREATOR} from workflow_instance where ${QUEUED} and ${CREATOR} > ${creator} order by ${CREATOR} limit 1),
    (select ${CREATOR} from workflow_instance where ${QUEUED} order by ${CREATOR} limit 1))`;

/** The next queue of a creator, or again the first. */
const queueAfter = (creator: string, tenant: string, queue: string) => `
  select tenant_id, queue_id from (
    (select 0 as round, tenant_id, ${QUEUE_ID} as queue_id from workflow_instance
     where ${QUEUED} and ${CREATOR} = ${creator} and (tenant_id, ${QUEUE_ID}) > (${tenant}, ${queue}) order by tenant_id, ${QUEUE_ID} limit 1)
    union all
    (select 1, tenant_id, ${QUEUE_ID} from workflow_instance where ${QUEUED} and ${CREATOR} = ${creator} order by tenant_id, ${QUEUE_ID} limit 1)
  ) found order by round limit 1`;

/** Whether a dispatch could find anything. This check costs a tenth of a dispatch, and most runs that end leave nothing in the queue. */
export const HAS_QUEUED = `
select exists (select from workflow_instance where ${QUEUED} and ${CREATOR} >= ${ALL_CREATORS})
  or exists (select from freed_key where id > 0) as waits`;

/** Whether a run waits for a worker, queued or dispatched; a run that waits for a key waits for another run. */
export const HAS_WAITING = `
select exists (select from workflow_instance where ${QUEUED} and ${CREATOR} >= ${ALL_CREATORS} and (not_before is null or not_before <= now()))
  or exists (
    select from workflow_instance where dispatched_at is not null and ready_at is not null and held_by is null and losses = 0
  ) as waiting`;

/**
 * Dispatches runs while the window has capacity. Queues are visited round-robin, so the cost depends on the capacity and not on the backlog.
 * Among the queues visited, the creator with the fewest runs in flight relative to the weight of the tenant comes first, then the tenant
 * with the fewest, then the workflow. Among the classes of a workflow chance decides, in the proportion of their weights, so that none
 * starves. Within a class the run that has waited longest comes first, its head start included.
 * Only one process dispatches at a time, so no other adds runs to the window while this one counts: runs only leave it.
 */
export const DISPATCH = `
with recursive dispatch_lock as materialized (select pg_try_advisory_xact_lock(7265002) as mine),
size as materialized (${WINDOW}),
busy as materialized (${inWindow('(select mine from dispatch_lock)')}),
free as materialized (
  select case when mine then greatest(0, size - used) else 0 end as of_all, greatest(0, size - used - (reserve + 1) / 2) as of_interactive,
    greatest(0, size - used - reserve) as of_any
  from dispatch_lock, size, (select count(*)::int as used from busy) counted
),
freed as (
  delete from freed_key where id in (select id from freed_key where (select mine from dispatch_lock) order by id limit ${FREED_KEYS})
  returning tenant_id, concurrency_key
),
unblocked as (
  update workflow_instance i set is_blocked = false
  from (
    select w.id from (select tenant_id, concurrency_key, count(*) as n from freed group by 1, 2) f
    cross join lateral (
      select id from workflow_instance w
      where w.tenant_id = f.tenant_id and w.concurrency_key = f.concurrency_key and is_blocked and completed_at is null
      order by ${QUEUED_SINCE} limit f.n
    ) w
  ) next where i.id = next.id and case when i.completed_at is null then true else false end
  returning i.id
),
start as materialized (
  select coalesce((select after_creator from dispatch_turn where ring = ${ALL_CREATORS}), ${ALL_CREATORS}) as at
),
creators as (
  select 1 as n, creator_id, creator_id <= at as is_around
  from start, lateral (select ${creatorAfter('at')} as creator_id) found
  where creator_id is not null and (select of_all from free) > 0
  union all
  select n + 1, next.creator_id, is_around or next.creator_id <= c.creator_id
  from creators c, start, lateral (select ${creatorAfter('c.creator_id')} as creator_id) next
  where n < ${CREATORS} and next.creator_id is not null
    and not (next.creator_id <= c.creator_id and (is_around or next.creator_id > at))
    and not (is_around and next.creator_id > at)
),
queues as (
  select c.n, 1 as k, c.creator_id, found.tenant_id, found.queue_id, s.after_tenant, s.after_line,
    (found.tenant_id, found.queue_id) <= (s.after_tenant, s.after_line) as is_around
  from creators c
  cross join lateral (
    select coalesce(max(after_tenant::text)::uuid, ${ALL_CREATORS}) as after_tenant, coalesce(max(after_line::text)::uuid, ${ALL_CREATORS}) as after_line
    from dispatch_turn where ring = c.creator_id
  ) s
  cross join lateral (${queueAfter('c.creator_id', 's.after_tenant', 's.after_line')}) found
  union all
  select l.n, k + 1, l.creator_id, next.tenant_id, next.queue_id, after_tenant, after_line,
    is_around or (next.tenant_id, next.queue_id) <= (l.tenant_id, l.queue_id)
  from queues l cross join lateral (${queueAfter('l.creator_id', 'l.tenant_id', 'l.queue_id')}) next
  where k < ${MAX_QUEUES}
    and not ((next.tenant_id, next.queue_id) <= (l.tenant_id, l.queue_id) and (is_around or (next.tenant_id, next.queue_id) > (after_tenant, after_line)))
    and not (is_around and (next.tenant_id, next.queue_id) > (after_tenant, after_line))
),
visited as materialized (
  select l.n, l.k, l.creator_id, l.tenant_id, l.queue_id, b.*, coalesce(d.weight, 1) as weight, coalesce(d.max_runs, ${NO_LIMIT}) as max_runs,
    ${isPaused('l.tenant_id', 'l.queue_id')} as is_paused
  from queues l
  cross join lateral (
    select count(*) filter (where b.tenant_id = l.tenant_id and b.queue_id = l.queue_id and b.is_whole) as queue_in_flight,
      count(*) filter (where b.tenant_id = l.tenant_id) as tenant_in_flight, count(*) as creator_in_flight,
      count(*) filter (where b.tenant_id = l.tenant_id and b.queue_id = l.queue_id and b.is_new and b.is_whole) as new_in_flight
    from busy b where b.creator_id = l.creator_id
  ) b
  left join tenant_dispatch d on d.tenant_id = l.tenant_id
  where not ${isTenantDeleting('l.tenant_id')}
),
found as materialized (
  select l.*, c.name as class, r.*,
    (row_number() over (partition by l.creator_id, l.tenant_id, l.queue_id, c.name order by r.queued_since, r.id) - random()) / c.weight as class_rank
  from visited l
  cross join (values ('interactive', 8), ('webhook', 4), ('cron', 2), ('batch', 1)) as c(name, weight)
  cross join lateral (
    select i.id, i.epoch, i.limits, i.concurrency_key, i.started_at is null as is_new, ${isUnstartedRoot('i')} as is_unstarted_root, ${QUEUED_SINCE} as queued_since
    from workflow_instance i
    where ${QUEUED} and ${CREATOR} = l.creator_id and i.tenant_id = l.tenant_id and ${QUEUE_ID} = l.queue_id and i.class = c.name
      and ${QUEUED_SINCE} <= now() - ${EPOCH} and (i.not_before is null or i.not_before <= now())
    order by ${QUEUED_SINCE} limit ${SPARE} + (select least(of_all, ceil(2.0 * of_all / (select count(*) from queues)))::int from free)
  ) r
  -- Above the limit, so that runs which the sweep has not taken out of the queue yet cost no more than others.
  where not (l.is_paused and r.is_unstarted_root)
),
keyed as materialized (
  select *, row_number() over (partition by tenant_id, concurrency_key order by superseded, queued_since, id) + holders <= max as fits
  from (
    select f.id, f.tenant_id, f.concurrency_key, f.queued_since, h.holders, (f.limits -> 'key' ->> 'limit')::int as max, f.limits -> 'key' ->> 'onLimit' as on_limit,
      f.limits -> 'key' ->> 'onLimit' = 'cancel-old'
        and row_number() over (partition by f.tenant_id, f.concurrency_key order by f.id desc) > (f.limits -> 'key' ->> 'limit')::int as superseded
    from found f
    cross join lateral (
      select count(*) as holders from (
        select from workflow_instance h
        where h.tenant_id = f.tenant_id and h.concurrency_key = f.concurrency_key and ${HOLDS_KEY}
        limit (f.limits -> 'key' ->> 'limit')::int
      ) holding
    ) h
    where f.is_new and f.concurrency_key is not null
  ) of_key
),
old as (
  select h.id, h.tenant_id, o.concurrency_key, o.max from (
    select tenant_id, concurrency_key, max(max) as max, max(holders) + count(*) filter (where not superseded) - max(max) as too_many
    from keyed where on_limit = 'cancel-old' group by tenant_id, concurrency_key
  ) o
  cross join lateral (
    select id, tenant_id from workflow_instance h
    where h.tenant_id = o.tenant_id and h.concurrency_key = o.concurrency_key and ${HOLDS_KEY}
    order by id limit greatest(0, o.too_many)
  ) h
),
period as materialized (
  select l.tenant_id, l.queue_id, s.starts + new_in_flight as starts
  from (
    select distinct on (tenant_id, queue_id) tenant_id, queue_id, new_in_flight, (limits -> 'rate' ->> 'limit')::int as max, (limits -> 'rate' ->> 'seconds')::float8 as seconds
    from found where limits -> 'rate' is not null order by tenant_id, queue_id
  ) l
  cross join lateral (
    select count(*) as starts from (
      select from workflow_instance s
      where s.tenant_id = l.tenant_id and ${QUEUE_ID} = l.queue_id
        and s.limits is not null and s.started_at is not null and s.started_at > now() - make_interval(secs => l.seconds)
      limit l.max
    ) started
  ) s
),
in_queue as (
  select *, row_number() over (partition by tenant_id, queue_id order by class_rank, id) as nth
  from (select f.* from found f left join keyed on keyed.id = f.id where coalesce(keyed.fits and not superseded, true)) f
),
within_workflow as (
  select f.*, f.nth + queue_in_flight as queue_rank
  from in_queue f left join period p on p.tenant_id = f.tenant_id and p.queue_id = f.queue_id
  where f.nth + queue_in_flight <= coalesce((f.limits ->> 'runs')::int, ${NO_LIMIT})
    and (not f.is_new or f.nth + coalesce(p.starts, 0) <= coalesce((f.limits -> 'rate' ->> 'limit')::int, ${NO_LIMIT}))
),
within_tenant as (
  select *, row_number() over (partition by tenant_id order by queue_rank, k, id) + tenant_in_flight as tenant_rank from within_workflow
),
within_creator as (
  select *, row_number() over (partition by creator_id order by tenant_rank / weight, k, id) + creator_in_flight as creator_rank,
    max(weight) over (partition by creator_id) as creator_weight
  from within_tenant where tenant_rank <= max_runs
),
ranked as materialized (
  select *, tenant_in_flight = 0 and tenant_rank = 1 as is_newcomer, row_number() over (order by creator_rank / creator_weight, n, k, id) as nth_of_all
  from within_creator
),
picked as materialized (
  select r.id, r.n, r.k, r.creator_id, r.tenant_id, r.queue_id, r.epoch,
    case when is_newcomer then 0 when class = 'interactive' then 1 else 2 end as priority
  from (
    select *, least(of_any, count(*) over ()) + row_number() over (partition by nth_of_all > of_any order by is_newcomer desc, class <> 'interactive', nth_of_all) as nth_reserved
    from ranked, free
  ) r
  where nth_of_all <= of_any or (is_newcomer and nth_reserved <= of_all) or (class = 'interactive' and nth_reserved <= of_interactive)
),
locked as materialized (
  select i.id, p.priority from workflow_instance i join picked p on p.id = i.id
  where case when i.epoch = p.epoch and i.ready_at is not null and i.held_by is null and i.dispatched_at is null and i.completed_at is null then true else false end
  order by i.id for no key update of i skip locked
),
dispatched as (
  update workflow_instance i set dispatched_at = now() from locked where i.id = locked.id
  returning i.id, i.tenant_id, i.class, i.epoch, locked.priority
),
to_block as materialized (
  select i.id from workflow_instance i join keyed k on k.id = i.id
  where not k.fits and k.on_limit = 'queue'
    and case when i.started_at is null and i.held_by is null and i.dispatched_at is null and i.completed_at is null then true else false end
  order by i.id for no key update of i skip locked
),
blocked as (update workflow_instance i set is_blocked = true from to_block where i.id = to_block.id returning i.id),
summary as materialized (
  select (select count(*) from picked) < (select of_any from free) as has_capacity,
    (select count(*) from ranked) > (select count(*) from picked) as has_backlog,
    (select count(*) from creators) as creators, (select count(*) from queues) as queues
),
creator_ring as (
  insert into dispatch_turn as t (ring, after_creator, has_backlog)
  select ${ALL_CREATORS}, coalesce((select creator_id from (
      select n, creator_id from creators where has_capacity union all select n, creator_id from picked where not has_capacity) c order by n desc limit 1), at),
    has_backlog
  from summary, start where (select of_all from free) > 0
  on conflict (ring) do update set after_creator = excluded.after_creator, has_backlog = excluded.has_backlog
  where (select creators from summary) > 1 or t.has_backlog <> excluded.has_backlog
),
queue_rings as (
  insert into dispatch_turn (ring, after_tenant, after_line)
  select distinct on (l.creator_id) l.creator_id, l.tenant_id, l.queue_id
  from queues l, summary
  where exists (select from queues other where other.creator_id = l.creator_id and other.k = 2)
    and (has_capacity or exists (select from picked p where p.n = l.n and p.k = l.k))
  order by l.creator_id, l.k desc
  on conflict (ring) do update set after_tenant = excluded.after_tenant, after_line = excluded.after_line
)
select 'dispatched' as outcome, id, tenant_id, class, epoch, priority, null as concurrency_key, null::int as max from dispatched
union all
select case when superseded then 'superseded' when on_limit = 'drop' then 'dropped' else 'failed' end, id, tenant_id, null, null, null, concurrency_key, max
from keyed where superseded or (not fits and on_limit in ('drop', 'fail'))
union all
select 'old', id, tenant_id, null, null, null, concurrency_key, max from old
union all
select 'lock-busy', null, null, null, null, null, null, null from dispatch_lock where not mine
union all
select 'partial', null, null, null, null, null, null, null from summary
where has_capacity and ((select count(*) from unblocked) > 0 or (select count(*) from blocked) > 0)
union all
select 'unvisited', null, null, null, null, null, null, null from summary
where has_capacity and (creators = ${CREATORS} or exists (select from queues where k = ${MAX_QUEUES}))`;
