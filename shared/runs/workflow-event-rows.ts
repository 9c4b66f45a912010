/** Stored as the workflow of a wait whose run has none: the test of an unsaved graph. */
export const NO_WORKFLOW = '00000000-0000-0000-0000-000000000000';

/** `$1` to `$7`: id, tenant, name, key, data, caller, seconds for which it is remembered. */
export const INSERT_EVENT = `
insert into workflow_event (id, tenant_id, name, key, data, bytes, caller, remembered_until)
values ($1, $2, $3, $4, $5::text::jsonb, octet_length($5::text), $6::jsonb, now() + make_interval(secs => $7))`;

export const FIND_EVENT = `
select id, tenant_id as "tenantID", name, key, caller, is_told as "isTold" from workflow_event where id = $1`;

/** Events whose process died, or lost the database, before it had delivered them to all runs that wait for them. */
export const FIND_UNTOLD = `
select id from workflow_event where not is_told and created_at < now() - interval '2 seconds' order by created_at limit $1`;

const OF_KEY = 'w.tenant_id = $1 and w.name = $2 and w.key = $3 and w.is_open';

/** The workflows of the runs that wait for an event, with one index lookup for each workflow. `$1` to `$3`: tenant, name, key. */
export const FIND_WAITING_WORKFLOWS = `
with recursive found as (
  (select w.workflow_id from event_wait w where ${OF_KEY} order by w.workflow_id limit 1)
  union all
  select (select w.workflow_id from event_wait w where ${OF_KEY} and w.workflow_id > found.workflow_id order by w.workflow_id limit 1)
  from found where found.workflow_id is not null
)
select workflow_id as "workflowID" from found where workflow_id is not null`;

/**
 * Whether an event `e` may be delivered to a wait `w`: it came after the wait began, or no wait of the run has got it before; and the wait
 * had not expired.
 */
const IS_FOR = `(w.created_at <= e.created_at or not exists (select from event_wait t where t.instance_id = w.instance_id and t.event_id = e.id))
  and (w.expires_at is null or w.expires_at > e.created_at)`;

/**
 * Delivers an event to waits of some workflows, at most `$6`, and adds an outbox entry for each run. Waits whose rows are locked are left
 * out: they end, or get another event. `$4`: the workflows; `$5`: the event.
 */
export const GIVE_EVENT = `
with chosen as (
  select w.id from event_wait w, workflow_event e
  where ${OF_KEY} and w.workflow_id = any($4::uuid[]) and e.id = $5 and ${IS_FOR}
  limit $6 for update of w skip locked
),
given as (
  update event_wait w set is_open = false, event_id = $5 from chosen where w.id = chosen.id returning w.instance_id
),
told as (insert into run_notice (instance_id, kind) select distinct instance_id, 'wake' from given)
select distinct instance_id as "instanceID" from given`;

/** Whether there are still waits to which the event may be delivered. */
export const HAS_LEFT = `
select exists (
  select from event_wait w, workflow_event e
  where ${OF_KEY} and w.workflow_id = any($4::uuid[]) and e.id = $5 and ${IS_FOR}) as "hasLeft"`;

export const MARK_TOLD = 'update workflow_event set is_told = true where id = $1 and not is_told';

/** The runs that an event has reached, `$2` of them at most. */
export const FIND_REACHED = `
with reached as (select instance_id, min(workflow_id::text) as workflow_id from event_wait where event_id = $1 group by instance_id)
select instance_id as "instanceID", nullif(workflow_id, '${NO_WORKFLOW}') as "workflowID", (select count(*)::int from reached) as total
from reached order by instance_id limit $2`;

/** Reads waits by their ids, each with the event that was delivered to it, if any. */
export const READ_EVENT_WAITS = `
select w.id, w.instance_id as "instanceID", w.tenant_id as "tenantID", w.workflow_id as "workflowID", w.is_open as "isOpen",
       w.expires_at <= clock_timestamp() as "isLate", e.id as "eventID", e.data, e.created_at as "sentAt"
from event_wait w left join workflow_event e on e.id = w.event_id where w.id = any($1::uuid[])`;

/** Stored events that may be delivered to the wait `$1`, oldest first, after the event with the time `$2` and the id `$3`. */
export const FIND_REMEMBERED = `
select e.id, e.caller, e.created_at::text as at from event_wait w
join workflow_event e on e.tenant_id = w.tenant_id and e.name = w.name and e.key = w.key
where w.id = $1 and e.created_at >= w.since and (e.created_at, e.id) > ($2::timestamptz, $3::uuid)
  and (e.remembered_until > now() or e.created_at >= w.created_at) and ${IS_FOR}
order by e.created_at, e.id limit $4`;

export const TAKE_EVENT = 'update event_wait set is_open = false, event_id = $2 where id = $1 and is_open';

/** Closes waits that have expired, unless an event was delivered to them first. */
export const EXPIRE_WAITS = `
update event_wait set is_open = false where id = any($1::uuid[]) and is_open and expires_at <= clock_timestamp()`;
