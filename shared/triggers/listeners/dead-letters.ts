import { retentionSeconds } from './event-states.ts';

/** Limit of events that one request makes pending again, or deletes. */
export const MAX_AT_ONCE = 5_000;

/** Dead letters of a listener (`$1`, `$2`), the oldest first; null parameters filter nothing. `$3`: ids; `$4`: error code; `$5`, `$6`: period. */
const picked = (columns: string) => `
select ${columns} from listener_event
where tenant_id = $1 and listener_id = $2 and state = 'dead' and ($3::uuid[] is null or id = any($3::uuid[]))
  and ($4::text is null or error ->> 'code' = $4::text)
  and ($5::timestamptz is null or received_at >= $5::timestamptz)
  and ($6::timestamptz is null or received_at < $6::timestamptz)
order by id limit ${MAX_AT_ONCE} for no key update skip locked`;

/** The outcomes of actions that have succeeded: they are copied, so that these actions are not executed again. */
const DONE = `(select jsonb_object_agg(key, value) from jsonb_each(e.actions) where value ->> 'state' = 'done')`;

/** Locks dead letters. Those that another request has locked are left to it. */
export const LOCK_DEAD = picked('id, dedup_key as key, received_at as "receivedAt"');

/**
 * Claims the deduplication keys of dead letters (`$3`: keys with ids) of a listener (`$1`, `$2`) for `$4` seconds and answers who holds
 * them now. A key is free if its last holder is dead.
 */
export const CLAIM_AGAIN = `
insert into listener_dedup as d (listener_id, key, tenant_id, event_id, body_hash, expires_at)
select $2::uuid, r.key, $1::uuid, r.id, '', now() + make_interval(secs => $4::float8)
from json_to_recordset($3::json) as r(key text, id uuid) order by r.key
on conflict (listener_id, key) do update set
  event_id = case when d.event_id = d.dead_event_id then excluded.event_id else d.event_id end,
  body_hash = case when d.event_id = d.dead_event_id then excluded.body_hash else d.body_hash end,
  expires_at = case when d.event_id = d.dead_event_id then excluded.expires_at else d.expires_at end
returning key, event_id as "heldBy"`;

/**
 * Makes dead letters pending again (`$1`, with the event that one is a duplicate of), `$2` per second. They keep their rows, so that each is
 * counted once, and the runs that they start have the ids that they would have had. An event with an ordering key goes to the end of the
 * events of its key, as if it had been received now: later events of the key may have been processed meanwhile, or be in processing.
 */
export const REDRIVE = `
with redriven as (
  select id, duplicate_of, row_number() over (partition by duplicate_of is null order by id) - 1 as n,
    nextval('listener_event_order') as seq
  from (select * from json_to_recordset($1::json) as r(id uuid, duplicate_of uuid) order by id) as ordered
)
update listener_event e set state = case when r.duplicate_of is null then 'pending' else 'duplicate' end,
  duplicate_of = r.duplicate_of, attempts_before = e.attempts, dispatched_at = null, error_stack = null, awaited_by = null,
  finished_at = case when r.duplicate_of is not null then now() end,
  expires_at = case when r.duplicate_of is not null then now() + make_interval(secs => ${retentionSeconds('duplicate')}) end,
  error = case when r.duplicate_of is null then e.error end,
  actions = ${DONE}, order_seq = case when e.order_key is not null then r.seq end,
  ready_at = now() + make_interval(secs => case when r.duplicate_of is null then coalesce(r.n / $2::float8, 0) else 0 end)
from redriven r where e.id = r.id
returning e.ready_at as "readyAt"`;

export const PURGE = `delete from listener_event where id in (${picked('id')})`;

const COPIED = `
insert into listener_event (id, tenant_id, listener_id, source, method, path, query, params, dedup_key, headers, meta, body, body_bytes,
  order_key, order_seq, replay_of, actions)
select $2::uuid, e.tenant_id, e.listener_id, e.source, e.method, e.path, e.query, e.params`;

/** Records a past event (`$1`) once more, under the id `$2`. The body of a duplicate may be that of the first delivery. */
export const REPLAY = `${COPIED}, null, e.headers, e.meta, coalesce(e.body, o.body), e.body_bytes, e.order_key,
  nextval('listener_event_order'), e.id, null
from listener_event e left join listener_event o on o.id = e.duplicate_of and o.tenant_id = e.tenant_id
where e.id = $1 and e.tenant_id = $3 and e.listener_id = $4 and e.finished_at is not null`;

/** Records a corrected copy of a dead letter, with the body `$5` (base64) and headers `$6`. The dead letter becomes `replaced`. */
export const REPLACE = `
with e as (
  update listener_event set state = 'replaced', error_stack = null
  where id = $1 and tenant_id = $3 and listener_id = $4 and state = 'dead' returning *
)
${COPIED}, e.dedup_key, coalesce($6::jsonb, e.headers), e.meta, coalesce(decode($5::text, 'base64'), e.body),
  coalesce(octet_length(decode($5::text, 'base64')), e.body_bytes), e.order_key,
  nextval('listener_event_order'), e.id, ${DONE}
from e`;

/** Counts the events of a listener in a period by their state. An id begins with its time: `$3` and `$4` are the ids of the limits. */
export const COUNT_EVENTS = `
select state, count(*)::int as count from listener_event
where tenant_id = $1 and listener_id = $2 and id >= $3::uuid and id < $4::uuid group by state`;

/** The newest dead letters of all tenants, `$1` of them. */
export const NEWEST_DEAD = `
select id as "eventID", tenant_id as "tenantID", listener_id as "listenerID", attempts, finished_at as "diedAt", error, error_stack as stack
from listener_event where state = 'dead' order by finished_at desc limit $1`;

/** Dead letters of all tenants, up to 10,000. */
export const COUNT_DEAD = `
select count(*)::int as count from (select from listener_event where state = 'dead' limit 10000) as counted`;
