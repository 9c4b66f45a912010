/**
 * Size of the dispatch window: how many runs may be in jobs or executed by workers at once, in all processes. A quarter more than there
 * are slots, so that a worker with a free slot finds a job at once. A tenth of the slots is reserved for tenants that have nothing in
 * flight; half of this reserve is also for interactive runs.
 */
export const WINDOW = `
  select ceil(1.25 * sum(slots))::int as size, ceil(0.1 * sum(slots))::int as reserve
  from (select slots from worker_session where ended_at is null and expires_at > now() union all select 0) live`;

/** The creator of a tenant: all tenants of a creator share the creator's part of the window. */
export const CREATOR = 'coalesce(creator_id, tenant_id)';
/** The queue of a run: its workflow, or the tenant for a run without one. Queues share their tenant's part of the window. */
export const QUEUE_ID = 'coalesce(workflow_id, tenant_id)';

const IN_FLIGHT = `${CREATOR} as creator_id, tenant_id, ${QUEUE_ID} as queue_id, started_at is null as is_new, map_id is null as is_whole from workflow_instance`;

/** The runs in the dispatch window. Read from their rows each time: a stored count could only be wrong. */
export const inWindow = (condition: string) => `
  select ${IN_FLIGHT} where dispatched_at is not null and ${condition} union all select ${IN_FLIGHT} where held_by is not null and ${condition}`;

/** The ring of all creators in `dispatch_turn`. Every creator's own ring has the creator's id. */
export const ALL_CREATORS = `'00000000-0000-0000-0000-000000000000'::uuid`;

/** Whether the tenant is being deleted: its runs are not dispatched any more, even if the window has capacity. */
export const isTenantDeleting = (tenant: string) => `
  exists (select from tenant closed where closed.id = ${tenant} and closed.deleting_at is not null)`;

/** Whether a workflow, or its whole tenant, is paused: no run begins except those that another run starts. */
export const isPaused = (tenant: string, queue: string) => `
  (exists (select from workflow p where p.id = ${queue} and p.paused_at is not null)
    or exists (select from tenant p where p.id = ${tenant} and p.paused_at is not null))`;

/** Whether a run has no parent and has not begun. A run that has begun goes on during a pause, with those it starts. */
export const isUnstartedRoot = (run: string) => `(${run}.started_at is null and ${run}.parent_id is null)`;

// The predicate of the index `workflow_instance_kept`. With CASE, because a plain condition would fit other indexes too: see `QUEUED`.
export const WITHHELD = 'case when kept_since is not null and completed_at is null then true else false end';

/** Whether a new run is withheld from its queue: during a pause, and until the runs that came in before it are in the queue. */
export const isWithheld = (tenant: string, queue: string) => `
  (${isPaused(tenant, queue)}
    or exists (select from workflow_instance where ${WITHHELD} and ${QUEUE_ID} = ${queue}))`;

/** Added to the deadline of a withheld run (1,000 years), so that it cannot expire: its time limit begins when it is put into the queue. */
export const WITHHELD_EXTENSION = 'make_interval(hours => 8760000)';

/**
 * Dispatches runs that are new or were woken directly, without a visit of the queues. `candidate` has one row for each: `n`, `id`,
 * `tenant_id`, `queue_id`, `class`, and `may_go_direct` if it has no limits. `direct` gets those that are dispatched at once, with the
 * priority of their jobs.
 */
export const DIRECT = `
size as materialized (${WINDOW}),
busy as materialized (${inWindow('true')}),
free as materialized (
  select size - used as of_all, size - used - (reserve + 1) / 2 as of_interactive, size - used - reserve as of_any,
    coalesce((select has_backlog from dispatch_turn where ring = ${ALL_CREATORS}), false) as has_backlog
  from size, (select count(*)::int as used from busy) counted
),
waiting as (
  select a.*, not exists (select from busy b where b.tenant_id = a.tenant_id)
      and row_number() over (partition by a.tenant_id order by a.n) = 1 as is_newcomer
  from candidate a
  where a.may_go_direct and not ${isTenantDeleting('a.tenant_id')}
    and not exists (select from tenant_dispatch d where d.tenant_id = a.tenant_id and d.max_runs is not null)
),
direct as materialized (
  select id, case when is_newcomer then 0 when class = 'interactive' then 1 else 2 end as priority
  from (select *, row_number() over (order by is_newcomer desc, n) as nth from waiting) w, free
  where nth <= case when is_newcomer then of_all when has_backlog then 0 when class = 'interactive' then of_interactive else of_any end
)`;
