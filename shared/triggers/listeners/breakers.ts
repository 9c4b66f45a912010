import { DEFERRED_UNTIL } from './deferred-events.ts';

/** Failures in a row that open a breaker, and seconds until the first probe. */
export const BREAKER = { failures: 10, firstSeconds: 10, maxSeconds: 300 } as const;

/** Locks the breakers of listeners in one order for all processes. */
export const LOCK_BREAKERS = `
select listener_id from listener_breaker where listener_id = any($1::uuid[]) order by listener_id for no key update`;

/** Adds failures of targets to their breakers. Enough failures in a row open a breaker; a failed probe doubles the time until the next probe. */
export const NOTE_FAILURES = `
insert into listener_breaker as b (listener_id, tenant_id, failures, error, probe_id, opened_at, probe_at)
select listener_id, tenant_id, failures, error, probe_id, case when failures >= ${BREAKER.failures} then now() end,
  case when failures >= ${BREAKER.failures} then now() + interval '${BREAKER.firstSeconds} seconds' end
from json_to_recordset($1::json) as r(listener_id uuid, tenant_id uuid, failures int, error jsonb, probe_id uuid) order by listener_id
on conflict (listener_id) do update set
  failures = b.failures + excluded.failures, error = excluded.error,
  opened_at = coalesce(b.opened_at, case when b.failures + excluded.failures >= ${BREAKER.failures} then now() end),
  opens = b.opens + case when b.probe_id = excluded.probe_id then 1 else 0 end,
  probe_at = case
    when b.opened_at is null then
      case when b.failures + excluded.failures >= ${BREAKER.failures} then now() + interval '${BREAKER.firstSeconds} seconds' end
    when b.probe_id = excluded.probe_id then
      now() + make_interval(secs => least(${BREAKER.maxSeconds}, ${BREAKER.firstSeconds} * 2 ^ least(b.opens + 1, 10)))
    else b.probe_at end,
  probe_until = case when b.probe_id = excluded.probe_id then null else b.probe_until end,
  probe_id = nullif(b.probe_id, excluded.probe_id)`;

export const CLOSE_BREAKERS = 'delete from listener_breaker where listener_id = any($1::uuid[])';

/** Ends probes whose events have not shown whether the target works: another event is tried as a probe. */
export const FORGET_PROBES = `
update listener_breaker set probe_id = null, probe_until = null, probe_at = now() where probe_id = any($1::uuid[])`;

/** Releases one deferred event as a probe for each breaker whose probe is due. After a minute without an outcome another event is tried. */
export const START_PROBES = `
with due as materialized (
  select listener_id from listener_breaker
  where opened_at is not null and probe_at <= now() and (probe_id is null or probe_until <= now())
  order by probe_at limit 100 for no key update skip locked
),
picked as (
  select due.listener_id, e.id from due cross join lateral (
    select id from listener_event where held_by = 'target' and listener_id = due.listener_id order by order_key, id limit 1) e
),
freed as (
  update listener_event e set held_by = null, ready_at = now() from picked where e.id = picked.id and e.held_by = 'target'
)
update listener_breaker b set probe_id = picked.id, probe_until = now() + interval '1 minute'
from picked where b.listener_id = picked.listener_id`;

/** Listeners whose events need not be deferred any more: the breaker is closed, or the listener is active again or deleted. */
export const LISTENERS_TO_RELEASE = `
with recursive l as (
  (select held_by, listener_id from listener_event where held_by in ('target', 'listener') order by held_by, listener_id limit 1)
  union all
  select next.held_by, next.listener_id from l cross join lateral (
    select e.held_by, e.listener_id from listener_event e
    where e.held_by in ('target', 'listener') and (e.held_by, e.listener_id) > (l.held_by, l.listener_id)
    order by e.held_by, e.listener_id limit 1) next
)
select held_by as "deferredBy", listener_id as "listenerID" from l
where case held_by
  when 'target' then not exists (
    select from listener_breaker b where b.listener_id = l.listener_id and b.opened_at is not null)
  else not exists (select from listener s where s.id = l.listener_id and s.status <> 'active') end`;

/** Releases deferred events of a listener, 500 at a time, so that neither the statement nor the target gets all at once. */
export const RELEASE_EVENTS = `
update listener_event set held_by = null, ready_at = now()
where ready_at = ${DEFERRED_UNTIL} and id in (
  select id from listener_event where held_by = $1 and listener_id = $2
  order by order_key, id limit 500 for no key update skip locked)`;

/** Breakers of listeners that are deleted. */
export const FORGET_BREAKERS = `
delete from listener_breaker b where not exists (select from listener l where l.id = b.listener_id)`;

/** How many breakers there are, and how many of them are open. */
export const COUNT_BREAKERS = `
select count(*)::int as count, count(*) filter (where opened_at is not null)::int as open from listener_breaker`;

/** Stops listeners whose creators lack a permission that the actions need. Events received from then on are deferred. */
export const STOP_LISTENERS = `
update listener l set status = 'error', last_error = r.error
from json_to_recordset($1::json) as r(listener_id uuid, error text)
where l.id = r.listener_id and l.status = 'active'`;
