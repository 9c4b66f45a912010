/** The `ready_at` of a deferred event, which is never due. `held_by` says what the event waits for. */
export const DEFERRED_UNTIL = `'9999-01-01T00:00:00Z'::timestamptz`;

/** Limit of events of one tenant that have jobs. Further events wait in their table, so that no tenant fills the queue. */
export const MAX_DISPATCHED = 500;
export const WAITING = 'dispatched_at is null and finished_at is null';
export const DISPATCHED = 'dispatched_at is not null and finished_at is null';

/** Headroom of each tenant of a source: how many events may get jobs at once; none if earlier ones wait. */
export const headroomOf = (source: string) => `
  select t.tenant_id, case
    when exists (
      select from listener_event w
      where w.tenant_id = t.tenant_id and w.dispatched_at is null and w.finished_at is null and w.ready_at <= now()) then 0
    else ${MAX_DISPATCHED} - (
      select count(*) from (
        select from listener_event d
        where d.tenant_id = t.tenant_id and d.dispatched_at is not null and d.finished_at is null limit ${MAX_DISPATCHED}) counted)
    end as headroom
  from (select distinct tenant_id from ${source}) t`;

/** Size above which a body is read in a statement of its own, when there is memory for it. */
export const LARGE_BODY = 65_536;
/** While a tenant has at most so many jobs, its next job goes before those of tenants that have more. `ifLarge`: for an event with a large body. */
const FEW = { jobs: 50, ifLarge: 4 };

/** Whether the job of an event goes before those of tenants with more jobs. `ranked` has the event's `nth` and the `headroom` of its tenant. */
export const isFirst = (ranked: string) =>
  `${MAX_DISPATCHED} - ${ranked}.headroom + ${ranked}.nth <= case when ${ranked}.body_bytes > ${LARGE_BODY} then ${FEW.ifLarge} else ${FEW.jobs} end`;

/**
 * Releases the first event of each ordering key (`$2` of the listeners `$1`), if it is deferred until its turn and no event of the key has
 * a job. The released event gets a job at once if its tenant has headroom.
 */
export const RELEASE_NEXT = `
with k as (
  select distinct listener_id, order_key from unnest($1::uuid[], $2::text[]) as k(listener_id, order_key)
),
head as (
  select h.id from k cross join lateral (
    select e.id, e.held_by from listener_event e
    where e.listener_id = k.listener_id and e.order_key = k.order_key and e.finished_at is null
    order by e.order_seq limit 1) h
  where h.held_by = 'turn' and not exists (
    select from listener_event d
    where d.listener_id = k.listener_id and d.order_key = k.order_key and d.dispatched_at is not null and d.finished_at is null)
),
locked as materialized (
  select id, tenant_id, order_seq, body_bytes from listener_event where id in (select id from head) and held_by = 'turn'
  order by id for no key update skip locked
),
tenants as (${headroomOf('locked')}
),
ranked as (
  select l.*, tenants.headroom, row_number() over (partition by l.tenant_id order by l.order_seq) as nth
  from locked l join tenants on tenants.tenant_id = l.tenant_id
)
update listener_event e set held_by = null, ready_at = now(), dispatched_at = case when r.nth <= r.headroom then now() end
from ranked r where e.id = r.id
returning e.id as "eventID", e.tenant_id as "tenantID", e.attempts as attempt, e.dispatched_at is not null as "isDispatched",
  ${isFirst('r')} as "isFirst"`;

/** Ordering keys with deferred events, `$3` of them, after the key `$2` of listener `$1`. Jumps from key to key in the index. */
export const KEYS_WITH_DEFERRED = `
with recursive k as (
  (select listener_id, order_key from listener_event
   where held_by = 'turn' and (listener_id, order_key) > ($1::uuid, $2::text) order by listener_id, order_key limit 1)
  union all
  select next.listener_id, next.order_key from k cross join lateral (
    select e.listener_id, e.order_key from listener_event e
    where e.held_by = 'turn' and (e.listener_id, e.order_key) > (k.listener_id, k.order_key)
    order by e.listener_id, e.order_key limit 1) next
)
select listener_id as "listenerID", order_key as "orderKey" from k limit $3`;
