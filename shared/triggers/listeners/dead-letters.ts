/** Limit of events that one request makes pending again, or deletes. */
export const MAX_AT_ONCE = 5_000;

/** Dead letters of a listener (`$1`, `$2`), the oldest first; null parameters filter nothing. `$3`: ids; `$4`: error code; `$5`, `$6`: period. */
const PICKED = `
select id from listener_event
where tenant_id = $1 and listener_id = $2 and state = 'dead' and ($3::uuid[] is null or id = any($3::uuid[]))
  and ($4::text is null or error ->> 'code' = $4::text)
  and ($5::timestamptz is null or received_at >= $5::timestamptz)
  and ($6::timestamptz is null or received_at < $6::timestamptz)
order by id limit ${MAX_AT_ONCE} for no key update skip locked`;

/** The outcomes of actions that have succeeded: they are copied, so that these actions are not executed again. */
const DONE = `(select jsonb_object_agg(key, value) from jsonb_each(e.actions) where value ->> 'state' = 'done')`;

/**
 * Makes dead letters pending again, `$7` per second. They keep their rows, so that each is counted once, and the runs that they start have
 * the ids that they would have had. An event with an ordering key goes to the end of the events of its key, as if it had been received
 * now: later events of the key may have been processed meanwhile, or be in processing.
 */
export const REDRIVE = `
with locked as materialized (${PICKED}),
picked as (
  select id, row_number() over (order by id) - 1 as n, nextval('listener_event_order') as seq
  from (select id from locked order by id) as ordered
)
update listener_event e set state = 'pending', attempts_before = e.attempts, dispatched_at = null, finished_at = null, expires_at = null,
  error_stack = null, awaited_by = null, actions = ${DONE}, order_seq = case when e.order_key is not null then picked.seq end,
  ready_at = now() + make_interval(secs => coalesce(picked.n / $7::float8, 0))
from picked where e.id = picked.id
returning e.ready_at as "readyAt"`;

export const PURGE = `delete from listener_event where id in (${PICKED})`;

const COPIED = `
insert into listener_event (id, tenant_id, listener_id, source, method, path, query, params, headers, meta, body, body_bytes, order_key,
  order_seq, replay_of, actions)
select $2::uuid, e.tenant_id, e.listener_id, e.source, e.method, e.path, e.query, e.params`;

/** Records a past event (`$1`) once more, under the id `$2`. The body of a duplicate may be that of the first delivery. */
export const REPLAY = `${COPIED}, e.headers, e.meta, coalesce(e.body, o.body), e.body_bytes, e.order_key,
  nextval('listener_event_order'), e.id, null
from listener_event e left join listener_event o on o.id = e.duplicate_of and o.tenant_id = e.tenant_id
where e.id = $1 and e.tenant_id = $3 and e.listener_id = $4 and e.finished_at is not null`;

/** Records a corrected copy of a dead letter, with the body `$5` (base64) and headers `$6`. The dead letter becomes `replaced`. */
export const REPLACE = `
with e as (
  update listener_event set state = 'replaced', error_stack = null
  where id = $1 and tenant_id = $3 and listener_id = $4 and state = 'dead' returning *
)
${COPIED}, coalesce($6::jsonb, e.headers), e.meta, coalesce(decode($5::text, 'base64'), e.body),
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
