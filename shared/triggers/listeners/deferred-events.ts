/** The `ready_at` of an event that is held: no dispatcher reaches it. `held_by` says what it waits for. */
export const HELD_UNTIL = `'9999-01-01T00:00:00Z'::timestamptz`;

/** Events of one tenant that have jobs. Beyond it they wait in their table, so that no tenant fills the queue. */
export const MAX_DISPATCHED = 500;
export const WAITING = 'dispatched_at is null and finished_at is null';
export const DISPATCHED = 'dispatched_at is not null and finished_at is null';

/** For each tenant of a source, how many events may get jobs at once; none if earlier ones wait. */
export const placesOf = (source: string) => `
  select t.tenant_id, case
    when exists (
      select from listener_event w
      where w.tenant_id = t.tenant_id and w.dispatched_at is null and w.finished_at is null and w.ready_at <= now()) then 0
    else ${MAX_DISPATCHED} - (
      select count(*) from (
        select from listener_event d
        where d.tenant_id = t.tenant_id and d.dispatched_at is not null and d.finished_at is null limit ${MAX_DISPATCHED}) counted)
    end as places
  from (select distinct tenant_id from ${source}) t`;

/** A larger body is read for itself, when there is memory for it. */
export const LARGE_BODY = 65_536;
/** As long as a tenant has no more jobs than these, a further one goes before those of tenants that have more. */
const FEW = { jobs: 50, ifLarge: 4 };

/** Whether the job of an event goes before those of tenants with more; it gets the `nth` of the `places` of its tenant. */
export const isFirst = (placed: string) =>
  `${MAX_DISPATCHED} - ${placed}.places + ${placed}.nth <= case when ${placed}.body_bytes > ${LARGE_BODY} then ${FEW.ifLarge} else ${FEW.jobs} end`;

/**
 * Frees the first event of each key (`$2` of the listeners `$1`), if it waits for its turn and none of its key has a job. It gets a job
 * itself if its tenant has room.
 */
export const FREE_TURNS = `
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
room as (${placesOf('locked')}
),
placed as (
  select l.*, room.places, row_number() over (partition by l.tenant_id order by l.order_seq) as nth
  from locked l join room on room.tenant_id = l.tenant_id
)
update listener_event e set held_by = null, ready_at = now(), dispatched_at = case when p.nth <= p.places then now() end
from placed p where e.id = p.id
returning e.id as "eventID", e.tenant_id as "tenantID", e.attempts as attempt, e.dispatched_at is not null as "isDispatched",
  ${isFirst('p')} as "isFirst"`;

/** Keys behind `$2` of `$1` that have events that wait for their turn, `$3` of them. Skips from one to the next by the index. */
export const KEYS_WITH_HELD = `
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
