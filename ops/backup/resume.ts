import type { JsonObject } from '#shared/core/json.ts';
import { inTransaction, type Pool, type PoolClient } from '#shared/db/pool.ts';
import { createProducer } from '#shared/messaging/producer.ts';
import { readHold } from '#shared/process/restore-hold.ts';
import { createRuns } from '#shared/runs/runs.ts';
import { nextTick, type Timed } from '#shared/triggers/cron/next-tick.ts';
import type { Deployment } from './open-deployment.ts';

/**
 * The fate of work that was open when the backup was made, and may have gone on since. `continue`: it goes on from there, and what it
 * did after the backup is done again. `waiting`: only runs go on that wait for a person, or for a time that is still to come. `cancel`:
 * none goes on.
 */
export const resumePolicies = ['continue', 'waiting', 'cancel'] as const;
export type ResumePolicy = (typeof resumePolicies)[number];

/** Open work of a restored deployment. */
export interface OpenWork {
  /** Runs that were not waiting for a person or a time to come. */
  atWork: number;
  waiting: number;
  events: number;
  deliveries: number;
  /** Batches, backfills, ticks of cron jobs, failure handlers, answers of models and their calls of tools. */
  others: number;
}

export async function readOpenWork(pool: Pool): Promise<OpenWork> {
  const hold = await readHold(pool);
  const { rows } = await pool.query<OpenWork>(OPEN_WORK, [hold?.snapshotAt]);
  return rows[0] ?? { atWork: 0, waiting: 0, events: 0, deliveries: 0, others: 0 };
}

/** Without open work there is nothing to decide. */
export async function onlyPolicy(pool: Pool): Promise<ResumePolicy> {
  const { atWork, waiting, events, deliveries, others } = await readOpenWork(pool);
  if (atWork + waiting + events + deliveries + others === 0) return 'continue';
  throw new Error(`When the backup was made, work was open that may have gone on since:
  ${atWork} runs at work, ${waiting} runs that wait for a person or for a time to come, ${events} events, ${deliveries} notifications of receivers, ${others} batches, backfills, ticks, failure handlers and answers of models.
Choose what becomes of it:
  --runs continue   all of it goes on; what it did after the backup is done a second time, under the same idempotency keys
  --runs waiting    runs that wait for a person, or for a time that is still to come, go on; the others are cancelled, events become dead letters
  --runs cancel     runs are cancelled, events become dead letters`);
}

/** Lets workers work in a restored deployment. May be repeated after an interruption: the mark is removed last. */
export async function resumeDeployment(deployment: Deployment, policy: ResumePolicy): Promise<{ cancelled: number }> {
  const { pool } = deployment;
  const hold = await readHold(pool);
  if (!hold) throw new Error('There is nothing to resume: this deployment waits for no restore');
  if (hold.phase === 'loading') throw new Error('The restore has not ended: run the same "gantry restore" again first');
  const cancelled = policy === 'continue' ? 0 : await cancelOpenWork(deployment, policy, hold.snapshotAt);
  await inTransaction(pool, async (client) => {
    await skipPastTicks(client);
    // Runs that a process of the old deployment owned are continued as after a crash, and count as seen now: the start of the first
    // worker fails runs without a sign of life (STALE_WORKFLOW_WINDOW).
    await client.query('update worker_session set ended_at = now(), expires_at = least(expires_at, now())');
    await client.query(
      'update deployment_restore set resumed_at = now() where resumed_at is null and restored_tenant_id is null',
    );
  });
  return { cancelled };
}

const RESTORED = 'The deployment was restored from a backup, and this may have been done since the backup was made';

/** Ends what may have been done since the backup: first what would follow from the end of runs, then the runs. */
async function cancelOpenWork(
  { pool, backplane, logger }: Deployment,
  policy: ResumePolicy,
  snapshotAt: Date,
): Promise<number> {
  const error = { code: 'RESTORED', message: RESTORED };
  await inTransaction(pool, async (client) => {
    await client.query(END_FAILURES, [snapshotAt, RESTORED]);
    await client.query(END_DELIVERIES, [snapshotAt]);
    await client.query(END_BATCHES, [snapshotAt, RESTORED]);
    await client.query(END_BACKFILLS, [snapshotAt]);
    await client.query(END_EVENTS, [snapshotAt, JSON.stringify(error)]);
    await client.query(END_TOOL_CALLS, [snapshotAt, RESTORED]);
    await client.query(END_ANSWERS, [snapshotAt]);
  });
  const producer = createProducer(backplane);
  const { messages } = backplane;
  const runs = createRuns({ pool, dispatchPool: pool, producer, messages, logger });
  for (let cancelled = 0; ; ) {
    const { rows } = await pool.query<{ id: string }>(policy === 'cancel' ? OPEN_ROOTS : OPEN_ROOTS_AT_WORK, [
      snapshotAt,
    ]);
    if (rows.length === 0) {
      await pool.query(END_TICKS, [snapshotAt, RESTORED, JSON.stringify(error)]);
      await pool.query(END_DELIVERIES_OF_CANCELLED, [snapshotAt]);
      return cancelled;
    }
    const ids = rows.map(({ id }) => id);
    const runError: JsonObject = { ...error, nodeID: null, attempt: null };
    await runs.end({ tenantID: null, ids, status: 'CANCELLED', error: runError });
    cancelled += ids.length;
  }
}

interface Job extends Timed {
  nextAt: Date;
}

/** Ticks between the backup and now are not started: the old deployment has started those before its end. */
async function skipPastTicks(client: PoolClient): Promise<void> {
  const { rows } = await client.query<Job>(DUE_JOBS);
  const now = Date.now();
  for (const job of rows) {
    const next = nextTick(job, now);
    await client.query(NOTE_MISSED, [job.id, job.nextAt, RESTORED]);
    await client.query('update cron_job set next_at = $2, due_at = $3 where id = $1', [
      job.id,
      next.nextAt,
      next.dueAt,
    ]);
  }
}

// A form, or an approval, is asked of a person again where the answer came after the backup. A run that waits for an open sub-workflow
// goes on if the sub-workflow does.
const RESTS = `(
  r.status = 'WAITING' and exists (select from run_wait w where w.instance_id = r.id)
  and not exists (select from run_wait w where w.instance_id = r.id and not (
    w.kind = 'input' and coalesce(w.due_at, 'infinity') > now() or w.kind = 'time' and w.due_at > now()
    or w.kind = 'child' and exists (select from workflow_instance c where c.id = w.ref and c.completed_at is null))))`;

const GOES_ON = `not exists (
  with recursive tree as (
    select i.id, i.status
    union all select c.id, c.status from tree t join workflow_instance c on c.parent_id = t.id where c.completed_at is null)
  select from tree r where not ${RESTS})`;

// A run that was accepted since the restore is new, and is not ended.
const OPEN_ROOT = `i.completed_at is null and i.created_at <= $1
  and not exists (select from workflow_instance p where p.id = i.parent_id and p.completed_at is null)`;

const OPEN_BATCH = 'asked is not null and filled_at is null and cancelled_at is null and created_at <= $1';
const OPEN_BACKFILL = 'filled_at is null and cancelled_at is null and created_at <= $1';
const OPEN_TICK = `t.status = 'SCHEDULED' and t.created_at <= $1
  and not exists (select from workflow_instance i where i.id = t.instance_id and i.completed_at is null)`;
const OPEN_FAILURE = 'handled_at is null and created_at <= $1';
const OPEN_TOOL_CALL = `status = 'ready' and created_at <= $1`;
const OPEN_ANSWER = 'ended_at is null and created_at <= $1';

const OPEN_WORK = `
select (select count(*) from workflow_instance i where ${OPEN_ROOT} and not ${GOES_ON})::int as "atWork",
  (select count(*) from workflow_instance i where ${OPEN_ROOT} and ${GOES_ON})::int as waiting,
  (select count(*) from listener_event where state = 'pending' and received_at <= $1)::int as events,
  (select count(*) from run_delivery where status = 'PENDING' and created_at <= $1)::int as deliveries,
  ((select count(*) from run_batch where ${OPEN_BATCH}) + (select count(*) from cron_backfill where ${OPEN_BACKFILL})
  + (select count(*) from cron_tick t where ${OPEN_TICK}) + (select count(*) from run_failure where ${OPEN_FAILURE})
  + (select count(*) from ai_tool_call where ${OPEN_TOOL_CALL}) + (select count(*) from ai_answer where ${OPEN_ANSWER}))::int as others`;

const OPEN_ROOTS = `
select id from workflow_instance i where ${OPEN_ROOT} order by id limit 500`;

const OPEN_ROOTS_AT_WORK = `
select id from workflow_instance i where ${OPEN_ROOT} and not ${GOES_ON} order by id limit 500`;

const DUE_JOBS = `
select id, cron_job_schedule as "cronJobSchedule", timezone, jitter_seconds as "jitterSeconds", next_at as "nextAt"
from cron_job where next_at <= now() for update`;

const NOTE_MISSED = `
insert into cron_tick (id, tenant_id, cron_job_id, scheduled_at, trigger_type, status, outcome, reason, finished_at, error)
select gen_random_uuid(), tenant_id, id, $2, 'SCHEDULED', 'FAILURE', 'missed', $3, now(), jsonb_build_object('code', 'MISSED', 'message', $3::text)
from cron_job where id = $1
on conflict (cron_job_id, scheduled_at) do nothing`;

/** Ticks that wait for another, or for their next attempt. */
const END_TICKS = `
update cron_tick t set status = 'FAILURE', outcome = case when outcome = 'queued' then 'missed' else outcome end, reason = $2,
  start_at = null, finished_at = now(), error = $3::jsonb
where ${OPEN_TICK}`;

const END_FAILURES = `update run_failure set handled_at = now(), error = $2 where ${OPEN_FAILURE}`;

const END_DELIVERIES = `
update run_delivery set status = 'FAILED', settled_at = now(), next_at = null where status = 'PENDING' and created_at <= $1`;

/** Calls of tools that a model, or a client of MCP, has asked for. One that waits for a person goes on waiting. */
const END_TOOL_CALLS = `
update ai_tool_call set status = 'failed', output = to_json($2::text)::text, claimed_until = null, ended_at = now()
where ${OPEN_TOOL_CALL}`;

const END_ANSWERS = `
update ai_answer set status = 'cancelled', is_unwanted = true, claimed_until = null, ended_at = now() where ${OPEN_ANSWER}`;

/** The end of a run has asked for a notification. No worker sends one before the mark is removed. */
const END_DELIVERIES_OF_CANCELLED = `
update run_delivery d set status = 'FAILED', settled_at = now(), next_at = null from workflow_instance i
where i.id = d.instance_id and d.status = 'PENDING' and i.status = 'CANCELLED' and i.error ->> 'code' = 'RESTORED' and i.created_at <= $1`;

const END_BATCHES = `
update run_batch set cancelled_at = now(), last_error = $2 where ${OPEN_BATCH}`;

const END_BACKFILLS = `
update cron_backfill set cancelled_at = now() where ${OPEN_BACKFILL}`;

/** Dead letters, which a person can look at and process again. */
const END_EVENTS = `
update listener_event set state = 'dead', finished_at = now(), expires_at = now() + interval '30 days', error = $2::jsonb,
  dispatched_at = null, held_by = null where state = 'pending' and received_at <= $1`;
