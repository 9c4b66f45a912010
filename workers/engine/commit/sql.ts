import { NO_WORKFLOW } from '#shared/runs/workflow-event-rows.ts';

// $1: the lease; $2 to $10: arrays with an element for each run; $11 to $20: arrays with an element for each event. The number of an event's row
// follows those of the starts that it carries. `is not distinct from` keeps the planner off the index of owned runs, which is full of dead
// entries: the id alone finds the row.
const LOCKED = `
with c as (
  select * from unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::text[], $7::int2[], $8::int[], $9::jsonb[], $10::jsonb[])
    as c(id, epoch, from_seq, to_seq, status, release, observed_wake_seq, output, error)
),
l as (
  select c.* from c join workflow_instance i on i.id = c.id
  where i.epoch = c.epoch and i.held_by is not distinct from $1::uuid and i.seq = c.from_seq
  order by i.id for no key update of i skip locked
)`;

/** Columns that children and waits for events take over from their parent. */
const FOR_CHILDREN =
  'i.tenant_id, i.workflow_id, i.is_test, i.caller, i.deadline_at, i.depth, i.class, i.creator_id, i.head_start, i.held_keys, ';

const ANSWERED =
  'i.id, i.wake_seq, coalesce(i.watched_until > now(), false) as watched, i.ready_at is not null as ready, i.awaited_by';

const UPDATED = (wakeAt: string, moreReturned = '', moreSet = '') => `
u as (
  update workflow_instance i
  set seq = l.to_seq, status = l.status, losses = case when l.release = 3 then i.losses else 0 end, hand_backs = 0, wake_at = ${wakeAt}, updated_at = now(),
      held_by = case when l.release in (0, 3) then i.held_by end,
      ready_at = case when l.release = 2 or (l.status = 'WAITING' and i.wake_seq > l.observed_wake_seq) then now() end,
      output = l.output, error = l.error,${moreSet}
      completed_at = case when l.status in ('COMPLETED', 'FAILED', 'CANCELLED') then now() end
  from l where i.id = l.id
  returning ${moreReturned}${ANSWERED}
)`;

/** Stores how much memory the run takes, for its next owner. */
const RESIDENT_LENGTH = `
      held_length = coalesce((select sizes.length from sizes where sizes.instance_id = l.id), i.held_length),`;

const INSERT_EVENTS = `
  insert into run_event (instance_id, seq, node_id, iteration, attempt, status, exit, payload, frame, started)`;

const EVENTS = `
e as (${INSERT_EVENTS}
  select v.* from unnest($11::uuid[], $12::bigint[], $13::text[], $14::int[], $15::int[], $16::text[], $17::text[], $18::jsonb[], $19::jsonb[], $20::jsonb[])
    as v(instance_id, seq, node_id, iteration, attempt, status, exit, payload, frame, started)
  join u on u.id = v.instance_id
)`;

const EVENTS_AND_BRIEFS = `
e as (${INSERT_EVENTS.replace('started)', 'started, brief)')}
  select v.* from unnest($11::uuid[], $12::bigint[], $13::text[], $14::int[], $15::int[], $16::text[], $17::text[], $18::jsonb[], $19::jsonb[], $20::jsonb[], $30::jsonb[])
    as v(instance_id, seq, node_id, iteration, attempt, status, exit, payload, frame, started, brief)
  join u on u.id = v.instance_id
)`;

// `at` is the time of the events, with the precision of the column that stores it.
const RESULT = 'select id, wake_seq, watched, ready, awaited_by, now()::timestamptz(3) as at from u';

/** The fenced commit. Updates only runs whose epoch, owner and seq are as this process knows them. */
export const COMMIT = `${LOCKED},${UPDATED('null')},${EVENTS}
${RESULT}`;

/**
 * The same for a single event of a single run that stays owned, without arrays as parameters: to read arrays as tables is a third of the cost
 * of a statement with one row (245 µs, and 166 µs without arrays, the wait for the disk not included). It sets no columns that keep their
 * value: each trigger on such a column compares the row, which took 46 of 353 µs.
 */
export const COMMIT_ONE = `
with l as (
  select i.id from workflow_instance i
  where i.id = $2::uuid and i.epoch = $3::int and i.held_by is not distinct from $1::uuid and i.seq = $4::bigint
  for no key update skip locked
),
u as (
  update workflow_instance i
  set seq = $5::bigint, status = 'RUNNING', losses = case when $6::int2 = 3 then i.losses else 0 end, hand_backs = 0, wake_at = null, updated_at = now()
  from l where i.id = l.id
  returning ${ANSWERED}
),
e as (${INSERT_EVENTS}
  select $7::uuid, $8::bigint, $9::text, $10::int, $11::int, $12::text, $13::text, $14::jsonb, $15::jsonb, $16::jsonb from u
)
${RESULT}`;

const withWaits = (events: string) => `${LOCKED},
w as (
  select r.instance_id, r.node_id, r.path, r.kind, r.ref, r.event, r.reminded,
         now() + make_interval(secs => r.due_ms / 1000.0) as due_at
  from jsonb_to_recordset($21::jsonb) as r(instance_id uuid, node_id text, path text, kind text, ref uuid, due_ms double precision, event jsonb, reminded int)
),
over as (select * from jsonb_to_recordset($22::jsonb) as r(instance_id uuid, node_id text, path text)),
sizes as (select * from jsonb_to_recordset($29::jsonb) as r(instance_id uuid, length bigint)),
due as (
  select l.id, least(
    (select min(w.due_at) from w where w.instance_id = l.id),
    (select min(rw.due_at) from run_wait rw where rw.instance_id = l.id
       and not exists (select from over where over.instance_id = rw.instance_id and over.node_id = rw.node_id and over.path = rw.path))
  ) as at from l where l.status = 'WAITING'
),${UPDATED('(select due.at from due where due.id = l.id)', FOR_CHILDREN, RESIDENT_LENGTH)},${events},
gone as (
  delete from run_wait rw using u where rw.instance_id = u.id
    and (exists (select from over where over.instance_id = rw.instance_id and over.node_id = rw.node_id and over.path = rw.path)
      or exists (select from l where l.id = u.id and l.status in ('COMPLETED', 'FAILED', 'CANCELLED')))
    and not exists (select from w where w.instance_id = rw.instance_id and w.node_id = rw.node_id and w.path = rw.path)
),
added as (
  insert into run_wait (instance_id, node_id, path, kind, ref, due_at, reminded)
  select w.instance_id, w.node_id, w.path, w.kind, w.ref, w.due_at, w.reminded from w join u on u.id = w.instance_id
  on conflict (instance_id, node_id, path) do update set kind = excluded.kind, ref = excluded.ref, due_at = excluded.due_at, reminded = excluded.reminded
),
unanswered as (
  update collection_request cr set status = 'CANCELLED', updated_at = now() from l join u on u.id = l.id
  where cr.instance_id = u.id and cr.status = 'PENDING' and l.status in ('COMPLETED', 'FAILED', 'CANCELLED')
),
-- A child under a key that a run above it holds shares its place, and has none of its own to wait for.
children as (
  insert into workflow_instance (
    id, tenant_id, creator_id, workflow_id, version_id, is_test, class, ready_at, deadline_at, parent_id, parent_node_id, depth, caller, input,
    head_start, limits, concurrency_key, held_keys)
  select r.id, u.tenant_id, u.creator_id, r.workflow_id, r.version_id, u.is_test, coalesce(r.class, u.class), now(),
         least(u.deadline_at, now() + make_interval(secs => r.timeout_s)),
         u.id, r.node_id, u.depth + 1, u.caller || jsonb_build_object('origin', 'workflow', 'originID', u.id), r.input,
         coalesce(r.head_start, u.head_start), r.limits,
         case when r.concurrency_key = any(u.held_keys) then null else r.concurrency_key end,
         case when r.concurrency_key is null then u.held_keys else u.held_keys || r.concurrency_key end
  from jsonb_to_recordset($23::jsonb) as r(
    parent_id uuid, id uuid, workflow_id uuid, version_id uuid, node_id text, input jsonb, timeout_s double precision,
    class text, head_start int, limits jsonb, concurrency_key text)
  join u on u.id = r.parent_id
),
event_waits as (
  insert into event_wait (id, tenant_id, instance_id, workflow_id, name, key, since, expires_at)
  select w.ref, u.tenant_id, u.id, coalesce(u.workflow_id, '${NO_WORKFLOW}'), w.event->>'name', w.event->>'key',
         now() - make_interval(secs => (w.event->>'lookback_s')::float8), w.due_at
  from w join u on u.id = w.instance_id where w.kind = 'event'
),
requests as (
  insert into collection_request (id, tenant_id, instance_id, node_id, path, iteration, frame, collection_type, collection_config, expires_at)
  select r.id, r.tenant_id, r.instance_id, r.node_id, r.path, r.iteration, r.frame, coalesce(r.config->>'collectionType', 'form'), r.config, now() + make_interval(secs => r.expires_ms / 1000.0)
  from jsonb_to_recordset($24::jsonb) as r(instance_id uuid, id uuid, tenant_id uuid, node_id text, path text, iteration int, frame jsonb, config jsonb, expires_ms double precision)
  join u on u.id = r.instance_id
),
maps as (
  insert into run_map (id, instance_id, node_id, path, frame, attempt, plan, scope, items, chunks, concurrency, tolerated, max_result_size)
  select r.id, r.instance_id, r.node_id, r.path, r.frame, r.attempt, r.plan, r.scope, r.items, r.chunks, r.concurrency, r.tolerated, r.max_result_size
  from jsonb_to_recordset($26::jsonb) as r(
    id uuid, instance_id uuid, node_id text, path text, frame jsonb, attempt int, plan jsonb, scope jsonb, items int, chunks int,
    concurrency int, tolerated int, max_result_size bigint)
  join u on u.id = r.instance_id
),
chunks as (
  insert into map_chunk (map_id, n, first, size, items)
  select r.map_id, r.n, r.first, r.size, r.items
  from jsonb_to_recordset($27::jsonb) as r(instance_id uuid, map_id uuid, n int, first int, size int, items jsonb)
  join u on u.id = r.instance_id
),
checkpoints as (
  insert into run_checkpoint (instance_id, seq, state)
  select r.instance_id, r.seq, r.state from jsonb_to_recordset($25::jsonb) as r(instance_id uuid, seq bigint, state jsonb)
  join u on u.id = r.instance_id
  on conflict (instance_id) do update set seq = excluded.seq, state = excluded.state
),
logged as (
  insert into run_log (instance_id, seq, node_id, lines, cut_lines, cut_bytes)
  select r.instance_id, r.seq, r.node_id, r.lines, r.cut_lines, r.cut_bytes
  from jsonb_to_recordset($28::jsonb) as r(instance_id uuid, seq bigint, node_id text, lines jsonb, cut_lines int, cut_bytes int)
  join u on u.id = r.instance_id
),
useless as (
  delete from run_checkpoint rc using u join l on l.id = u.id
  where rc.instance_id = u.id and l.status in ('COMPLETED', 'FAILED', 'CANCELLED')
)
${RESULT}`;

/** Also writes waits, children and questions, deletes waits that are over, and releases. */
export const COMMIT_AND_WAITS = withWaits(EVENTS);

/** The same for events with large outputs: `brief` is their payload with a description in place of the output. */
export const COMMIT_AND_BRIEFS = withWaits(EVENTS_AND_BRIEFS);
