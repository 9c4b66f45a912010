import { insertFrom } from '../../access/audit/records.ts';
import { DEFERRED_UNTIL, DISPATCHED, headroomOf, isFirst, MAX_DISPATCHED, WAITING } from './deferred-events.ts';
import { retentionSeconds } from './event-states.ts';

/** Ids of events that an entry of the audit trail lists; further events are only counted. */
const MAX_NAMED = 50;

// The entry has the id of its first event, so a statement that is tried again does not write a second entry.
const NOTES = `(
  select coalesce(jsonb_agg(jsonb_build_object('id', ids[1], 'tenantID', tenant_id, 'kind', 'entry', 'type', type, 'action', source,
    'assetType', 'listener', 'assetID', listener_id, 'status', 200, 'at', now(),
    'details', jsonb_build_object('count', n, 'duplicates', duplicates, 'bytes', bytes, 'eventIDs', to_jsonb(ids[:${MAX_NAMED}])))), '[]')
  from (
    select f.tenant_id, f.listener_id, f.source, case f.source when 'webhook' then 'WEBHOOK_DELIVERY' else 'LISTENER_EVENT' end as type,
      count(*) as n, count(f.duplicate_of) as duplicates, sum(f.body_bytes) as bytes, array_agg(f.id order by f.n) as ids
    from found f group by f.tenant_id, f.listener_id, f.source) as received
)`;

/**
 * Records deliveries. `$1`: the rows as JSON. `$2`: all their bodies in one value, which is sent as binary; in an array each byte would be
 * two hexadecimal digits. The first delivery with a deduplication key claims it, in the order of the rows; later ones are duplicates that
 * refer to it. One whose window is zero claims nothing: it is only compared with those that did. Events get jobs as far as their tenant
 * has headroom, unless earlier events of the tenant wait. Events with an ordering key are deferred, because events that another process
 * records at the same moment are not visible here. They get their sequence numbers after the rows are sorted. The audit trail gets an
 * entry for each listener.
 */
export const RECORD_EVENTS = `
with r as materialized (
  select * from json_to_recordset($1::json) as r(
    n int, id uuid, tenant_id uuid, listener_id uuid, source text, method text, path text, query text, params jsonb, headers jsonb,
    meta jsonb, body_at int, body_bytes int, dedup_key text, body_hash text, window_s float8, order_key text, awaited_by text,
    replay_of uuid)
),
claimed as (
  insert into listener_dedup as d (listener_id, key, tenant_id, event_id, body_hash, expires_at)
  select distinct on (listener_id, dedup_key)
    listener_id, dedup_key, tenant_id, id, decode(body_hash, 'hex'), now() + make_interval(secs => window_s)
  from r where dedup_key is not null order by listener_id, dedup_key, window_s > 0 desc, n
  on conflict (listener_id, key) do update set
    event_id = case when d.expires_at <= now() then excluded.event_id else d.event_id end,
    body_hash = case when d.expires_at <= now() then excluded.body_hash else d.body_hash end,
    expires_at = case when d.expires_at <= now() then excluded.expires_at else d.expires_at end
  returning d.listener_id, d.key, d.event_id, d.body_hash, d.expires_at
),
found as (
  select r.*, case when c.event_id <> r.id then c.event_id end as duplicate_of,
    c.event_id <> r.id and c.body_hash = decode(r.body_hash, 'hex') as is_same
  from r left join claimed c on c.listener_id = r.listener_id and c.key = r.dedup_key and c.expires_at > now()
),
tenants as (${headroomOf('r')}
),
ranked as (
  select f.id, f.body_bytes, tenants.headroom, row_number() over (partition by f.tenant_id order by f.n) as nth
  from found f join tenants on tenants.tenant_id = f.tenant_id where f.duplicate_of is null and f.order_key is null
),
noted as (${insertFrom(NOTES)}
),
inserted as (
insert into listener_event (id, tenant_id, listener_id, source, method, path, query, params, headers, meta, body, body_bytes,
  dedup_key, duplicate_of, order_key, awaited_by, replay_of, order_seq, held_by, ready_at, state, dispatched_at, finished_at, expires_at)
select f.id, f.tenant_id, f.listener_id, f.source, f.method, f.path, f.query, f.params, f.headers, f.meta,
  case when f.is_same is not true then substring($2::bytea from f.body_at + 1 for f.body_bytes) end, f.body_bytes,
  case when f.window_s > 0 then f.dedup_key end, f.duplicate_of, f.order_key, f.awaited_by, f.replay_of,
  case when f.order_key is not null then nextval('listener_event_order') end,
  case when f.order_key is not null and f.duplicate_of is null then 'turn' end,
  case when f.order_key is not null and f.duplicate_of is null then ${DEFERRED_UNTIL} else now() end,
  case when f.duplicate_of is null then 'pending' else 'duplicate' end,
  case when p.nth <= p.headroom then now() end,
  case when f.duplicate_of is not null then now() end,
  case when f.duplicate_of is not null then now() + make_interval(secs => ${retentionSeconds('duplicate')}) end
from found f left join ranked p on p.id = f.id
order by f.n
returning id, duplicate_of, dispatched_at
)
select i.id, i.duplicate_of as "duplicateOf", i.dispatched_at is not null as "isDispatched", ${isFirst('p')} as "isFirst"
from inserted i left join ranked p on p.id = i.id`;

/** Adds to the use of the quota of bytes. Every process writes the rows in the order of tenants, so that no deadlock arises. */
export const ADD_USAGE = `
insert into listener_usage as u (tenant_id, day, events, bytes)
select tenant_id, date_trunc('day', now()), events, bytes
from json_to_recordset($1::json) as r(tenant_id uuid, events bigint, bytes bigint) order by tenant_id
on conflict (tenant_id, day) do update set events = u.events + excluded.events, bytes = u.bytes + excluded.bytes`;

/** Adds to the numbers of received events that listeners show. */
export const ADD_COUNTS = `
with r as (
  select * from json_to_recordset($1::json) as r(listener_id uuid, events bigint, at timestamptz)
),
locked as (
  select l.id, r.events, r.at from listener l join r on r.listener_id = l.id order by l.id for no key update of l
)
update listener l set event_count = l.event_count + locked.events, last_event_at = greatest(l.last_event_at, locked.at)
from locked where l.id = locked.id`;

/** Size up to which a body is read with its event. Larger ones are read by a later statement. */
export const SMALL_BODY = 4_096;

/** Reads the events of jobs, unless they are finished. The job of an event with an ordering key may be outdated: another may have its turn. */
export const READ_EVENTS = `
select e.id, e.tenant_id as "tenantID", e.listener_id as "listenerID", source, received_at as "receivedAt", method, path, query, params,
  headers, case when body_bytes <= ${SMALL_BODY} then body end as body, body_bytes as "bodyBytes", meta, attempts,
  attempts_before as "attemptsBefore", actions, awaited_by as "awaitedBy", order_key as "orderKey",
  case when b.probe_id = e.id then 'probe' when b.opened_at is not null then 'open' when b.listener_id is not null then 'failing' end
    as breaker,
  coalesce((select l.tested_until > now() from listener l where l.id = e.listener_id), false) as "isTested"
from listener_event e left join listener_breaker b on b.listener_id = e.listener_id
where e.id = any($1::uuid[]) and finished_at is null and (order_key is null or dispatched_at is not null)`;

export const READ_BODIES = 'select id, body from listener_event where id = any($1::uuid[])';

/** Locks the events that are still not finished, in one order for all processes. */
export const LOCK_EVENTS = `
select id from listener_event where id = any($1::uuid[]) and finished_at is null order by id for no key update`;

/** Writes the outcomes of attempts at events that the transaction has locked. */
export const END_ATTEMPTS = `
update listener_event e set
  state = r.state, attempts = e.attempts + r.failed, error_stack = r.stack,
  error = case when r.state = 'pending' and r.failed = 0 then e.error else r.error end, instance_id = coalesce(r.instance_id, e.instance_id),
  actions = coalesce(r.actions, e.actions),
  held_by = r.held_by,
  ready_at = case
    when r.held_by is not null then ${DEFERRED_UNTIL}
    when r.state = 'pending' then now() + make_interval(secs => r.wait_s)
    else e.ready_at end,
  dispatched_at = case when r.state = 'pending' then null else e.dispatched_at end,
  finished_at = case when r.state <> 'pending' then now() end,
  expires_at = case when r.state <> 'pending' then now() + make_interval(secs => r.kept_s) end
from json_to_recordset($1::json) as r(
  id uuid, state text, failed int, error jsonb, stack text, instance_id uuid, actions jsonb, wait_s float8, kept_s float8,
  held_by text)
where e.id = r.id`;

/**
 * Tenants after `$1` that have events for which the condition holds, `$2` of them, and whether the oldest of these events by `time` is
 * older than `$3` seconds. Jumps from tenant to tenant in the index, without reading all events.
 */
export const tenantsWith = (condition: string, time: 'ready_at' | 'dispatched_at') => `
with recursive t as (
  (select tenant_id, ${time} as at from listener_event
   where ${condition} and tenant_id > $1::uuid order by tenant_id, ${time} limit 1)
  union all
  select next.tenant_id, next.at from t cross join lateral (
    select e.tenant_id, e.${time} as at from listener_event e
    where ${condition} and e.tenant_id > t.tenant_id order by e.tenant_id, e.${time} limit 1) next
)
select tenant_id as "tenantID", at <= now() - make_interval(secs => $3) as "isDue" from t limit $2`;

/**
 * Dispatches events of a tenant, the oldest first, as far as the tenant has headroom. An event is deferred if another event of its
 * ordering key has a job or comes before it.
 */
export const DISPATCH_EVENTS = `
with tenant as materialized (
  select ${MAX_DISPATCHED} - count(*) as headroom
  from (select from listener_event where tenant_id = $1 and ${DISPATCHED} limit ${MAX_DISPATCHED}) counted
),
picked as materialized (
  select id, listener_id, order_key, order_seq, body_bytes, ready_at from listener_event
  where tenant_id = $1 and ${WAITING} and ready_at <= now() order by ready_at, id
  limit greatest(0, (select headroom from tenant))
  for no key update skip locked
),
gated as (
  select p.id, p.body_bytes, (select headroom from tenant) as headroom, row_number() over (order by p.ready_at, p.id) as nth,
    p.order_key is not null and exists (
    select from listener_event o
    where o.listener_id = p.listener_id and o.order_key = p.order_key and o.finished_at is null and o.id <> p.id
      and (o.order_seq < p.order_seq or o.dispatched_at is not null)) as is_behind
  from picked p
)
update listener_event e set dispatched_at = case when not g.is_behind then now() end,
  held_by = case when g.is_behind then 'turn' end, ready_at = case when g.is_behind then ${DEFERRED_UNTIL} else e.ready_at end
from gated g where e.id = g.id
returning e.id as "eventID", e.attempts as attempt, g.is_behind as "isBehind", e.listener_id as "listenerID", e.order_key as "orderKey",
  ${isFirst('g')} as "isFirst"`;

/** Events of a tenant whose jobs were added more than `$2` seconds ago: a job may be lost, or still wait in the queue. */
export const DISPATCHED_LONG_AGO = `
select id as "eventID", attempts as attempt from listener_event
where tenant_id = $1 and ${DISPATCHED} and dispatched_at < now() - make_interval(secs => $2)
order by dispatched_at, id limit ${MAX_DISPATCHED}`;

/**
 * Ends the claims of dead events, so that the sender's next delivery with such a key is processed. The rows are kept as long as the dead
 * letters, because a redrive asks whether another delivery with the key has been processed meanwhile.
 */
export const FORGET_DEDUP = `
insert into listener_dedup as d (listener_id, key, tenant_id, event_id, body_hash, expires_at, dead_event_id, kept_until)
select distinct on (e.listener_id, e.dedup_key) e.listener_id, e.dedup_key, e.tenant_id, e.id, '', now(), e.id,
  now() + make_interval(secs => ${retentionSeconds('dead')})
from listener_event e left join listener_dedup c on c.listener_id = e.listener_id and c.key = e.dedup_key
where e.id = any($1::uuid[]) and e.dedup_key is not null
order by e.listener_id, e.dedup_key, c.event_id is not distinct from e.id desc
on conflict (listener_id, key) do update set kept_until = excluded.kept_until,
  dead_event_id = case when d.event_id = excluded.event_id then excluded.event_id else d.dead_event_id end,
  expires_at = case when d.event_id = excluded.event_id then excluded.expires_at else d.expires_at end`;

/** Writes the outcome of an action at once, not with those of the attempt, because its effect is outside of the database. */
export const NOTE_ACTION = `
update listener_event set actions = coalesce(actions, '{}') || jsonb_build_object($2::text, $3::jsonb)
where id = $1 and finished_at is null`;

export const SAVE_TO_BUFFERS = `
insert into listener_buffer (id, tenant_id, listener_id, event_id, buffer_name, event_data, event_meta, bytes, received_at, expires_at)
select id, tenant_id, listener_id, event_id, buffer_name, event_data, event_meta, bytes, received_at,
  received_at + make_interval(secs => kept_s)
from json_to_recordset($1::json) as r(
  n int, id uuid, tenant_id uuid, listener_id uuid, event_id uuid, buffer_name text, event_data jsonb, event_meta jsonb, bytes int,
  received_at timestamptz, kept_s float8)
order by n on conflict (id) do nothing`;

/** Deletes the oldest events of a buffer (`$1`, `$2`) that exceed its number of events (`$3`) or bytes (`$4`). */
export const TRIM_BUFFER = `
with beyond as (
  select received_at, id from (
    select received_at, id, row_number() over newest as n, sum(bytes) over newest as total from listener_buffer
    where listener_id = $1 and buffer_name = $2
    window newest as (order by received_at desc, id desc rows unbounded preceding)) ranked
  where n > $3 or total > $4 order by received_at desc, id desc limit 1
)
delete from listener_buffer b using beyond
where b.listener_id = $1 and b.buffer_name = $2 and (b.received_at, b.id) <= (beyond.received_at, beyond.id)`;
