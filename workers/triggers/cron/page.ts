import { type AuditRecord, insertFrom } from '#shared/access/audit/records.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { PoolClient } from '#shared/db/pool.ts';
import type {
  CronJobType,
  MissedRunPolicy,
  OverlapPolicy,
  TickOutcome,
  TickStatus,
  TriggerType,
} from '#shared/triggers/cron/job.ts';
import type { Timed } from '#shared/triggers/cron/next-tick.ts';
import type { RunError } from '#shared/workflow/run-error.ts';

/** The locked row of a job, with everything that is needed to start its work. */
export interface LockedJob extends Timed {
  tenantID: string;
  cronJobTitle: string;
  cronJobEnabled: boolean;
  cronJobType: CronJobType;
  cronJobConfig: JsonObject;
  versionID: string | null;
  overlapPolicy: OverlapPolicy;
  missedRunPolicy: MissedRunPolicy;
  missedRunWindowSeconds: number;
  timeoutSeconds: number;
  retryAttempts: number;
  retryDelaySeconds: number;
  pausedAt: Date | null;
  stoppedAt: Date | null;
  stopReason: string | null;
  nextAt: Date | null;
  dueAt: Date | null;
  creatorID: string;
  createdByApiKeyID: string | null;
  /** Null if the job names no workflow, or one that does not exist. */
  workflow: { versionID: string | null; isDisabled: boolean; options: unknown } | null;
  hasQuery: boolean;
  now: Date;
}

/** A tick whose work has not ended. */
export interface OpenTick {
  id: string;
  cronJobID: string;
  scheduledAt: Date;
  lastScheduledAt: Date | null;
  triggerType: TriggerType;
  status: TickStatus;
  outcome: TickOutcome;
  reason: string | null;
  attempts: number;
  instanceID: string | null;
  firedAt: Date | null;
  /** When the next attempt begins; null while an attempt is running, or while the tick waits for other work. */
  startAt: Date | null;
  startedAt: Date | null;
  finishedAt: Date | null;
  error: JsonObject | null;
}

/** The end of a tick's run, as the engine has recorded it for the next poll of the job. */
export interface EndedRun {
  instanceID: string;
  cronJobID: string;
  tickID: string;
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED';
  error: RunError | null;
  startedAt: Date | null;
  endedAt: Date;
}

/** Open ticks of a job that a poll reads: its running ones, then those that wait. */
const MAX_OPEN = 200;

/** Locks the jobs of a page that no other worker has locked. */
export async function lockJobs(client: PoolClient, ids: readonly string[]): Promise<LockedJob[]> {
  const { rows } = await client.query<LockedJob>({ name: 'cron_lock', text: LOCK, values: [ids] });
  return rows;
}

/** Deletes and returns the recorded ends of the jobs' runs, and reads the open ticks, including those of the ended runs. */
export async function readTicks(client: PoolClient, jobIDs: readonly string[]) {
  const ends = await client.query<EndedRun>({ name: 'cron_ends', text: ENDS, values: [jobIDs] });
  const endedTicks = ends.rows.map(({ tickID }) => tickID);
  const open = await client.query<OpenTick>({ name: 'cron_open', text: OPEN, values: [jobIDs, endedTicks] });
  // A union in SQL has no order.
  const byTime = open.rows.sort((one, other) => one.scheduledAt.getTime() - other.scheduledAt.getTime());
  return { ends: ends.rows, open: byTime };
}

export type NewTick = OpenTick & { tenantID: string };

/**
 * Inserts new ticks with their entries in the audit trail. Returns the ids of the inserted ones: a tick is ignored if its job already
 * has a tick for the same time.
 */
export async function insertTicks(
  client: PoolClient,
  ticks: readonly NewTick[],
  entries: readonly AuditRecord[],
): Promise<ReadonlySet<string>> {
  if (ticks.length === 0) return new Set();
  const { rows } = await client.query<{ id: string }>(INSERT, [JSON.stringify(ticks), JSON.stringify(entries)]);
  return new Set(rows.map(({ id }) => id));
}

export async function updateTicks(client: PoolClient, ticks: readonly OpenTick[]): Promise<void> {
  if (ticks.length > 0) await client.query(UPDATE, [JSON.stringify(ticks)]);
}

export async function updateJobs(client: PoolClient, jobs: readonly LockedJob[]): Promise<void> {
  const rows = jobs.map(({ id, nextAt, dueAt, stoppedAt, stopReason }) => ({
    id,
    nextAt,
    dueAt,
    stoppedAt,
    stopReason,
  }));
  if (rows.length > 0) await client.query(UPDATE_JOBS, [JSON.stringify(rows)]);
}

// The rows are found by the primary key.
const LOCK = `
select j.id, j.tenant_id as "tenantID", j.cron_job_title as "cronJobTitle", j.cron_job_schedule as "cronJobSchedule", j.timezone,
  j.jitter_seconds as "jitterSeconds", j.cron_job_enabled as "cronJobEnabled", j.cron_job_type as "cronJobType", j.cron_job_config as "cronJobConfig",
  j.version_id as "versionID", j.overlap_policy as "overlapPolicy", j.missed_run_policy as "missedRunPolicy",
  j.missed_run_window_seconds as "missedRunWindowSeconds", j.timeout_seconds as "timeoutSeconds", j.retry_attempts as "retryAttempts",
  j.retry_delay_seconds as "retryDelaySeconds", j.paused_at as "pausedAt", j.stopped_at as "stoppedAt", j.stop_reason as "stopReason",
  j.next_at as "nextAt", j.due_at as "dueAt", j.creator_id as "creatorID", j.created_by_api_key_id as "createdByApiKeyID",
  (select jsonb_build_object('versionID', w.version_id, 'isDisabled', w.is_disabled, 'options', w.workflow_options)
   from workflow w where w.id = (j.cron_job_config ->> 'workflowID')::uuid and w.tenant_id = j.tenant_id) as workflow,
  exists (select from data_query q where q.id = (j.cron_job_config ->> 'dataQueryID')::uuid and q.tenant_id = j.tenant_id) as "hasQuery",
  now() as now
from cron_job j where j.id = any($1::uuid[]) order by j.id for no key update of j skip locked`;

const ENDS = `
delete from cron_end where cron_job_id = any($1::uuid[])
returning instance_id as "instanceID", cron_job_id as "cronJobID", tick_id as "tickID", status, error, started_at as "startedAt", ended_at as "endedAt"`;

const COLUMNS = `
  t.id, t.cron_job_id as "cronJobID", t.scheduled_at as "scheduledAt", t.last_scheduled_at as "lastScheduledAt", t.trigger_type as "triggerType", t.status,
  t.outcome, t.reason, t.attempts, t.instance_id as "instanceID", t.fired_at as "firedAt", t.start_at as "startAt", t.started_at as "startedAt",
  t.finished_at as "finishedAt", t.error`;

const OPEN = `
select t.* from unnest($1::uuid[]) as job(id) cross join lateral (
  select ${COLUMNS} from cron_tick t where t.cron_job_id = job.id and t.status = 'SCHEDULED'
  order by (t.outcome = 'queued'), t.scheduled_at limit ${MAX_OPEN}
) t
union
select ${COLUMNS} from cron_tick t where t.id = any($2::uuid[]) and t.status = 'SCHEDULED'`;

const RECORD = `
  id uuid, "tenantID" uuid, "cronJobID" uuid, "scheduledAt" timestamptz, "lastScheduledAt" timestamptz, "triggerType" text, status text, outcome text,
  reason text, attempts int, "instanceID" uuid, "firedAt" timestamptz, "startAt" timestamptz, "startedAt" timestamptz, "finishedAt" timestamptz, error jsonb`;

// The audit entry of a tick has the id of the tick.
const INSERT = `
with inserted as (
insert into cron_tick (id, tenant_id, cron_job_id, scheduled_at, last_scheduled_at, trigger_type, status, outcome, reason, attempts, instance_id,
  fired_at, start_at, started_at, finished_at, error)
select id, "tenantID", "cronJobID", "scheduledAt", "lastScheduledAt", "triggerType", status, outcome, reason, attempts, "instanceID",
  "firedAt", "startAt", "startedAt", "finishedAt", error
from jsonb_to_recordset($1::jsonb) as r(${RECORD})
on conflict (cron_job_id, scheduled_at) do nothing returning id
),
noted as (${insertFrom(`(
  select coalesce(jsonb_agg(e.entry), '[]') from jsonb_array_elements($2::jsonb) as e(entry) join inserted on inserted.id = (e.entry ->> 'id')::uuid)`)}
)
select id from inserted`;

const UPDATE = `
update cron_tick t set status = r.status, outcome = r.outcome, reason = r.reason, attempts = r.attempts, instance_id = r."instanceID",
  fired_at = r."firedAt", start_at = r."startAt", started_at = r."startedAt", finished_at = r."finishedAt", error = r.error
from jsonb_to_recordset($1::jsonb) as r(${RECORD}) where t.id = r.id`;

const UPDATE_JOBS = `
update cron_job j set next_at = r."nextAt", due_at = r."dueAt", stopped_at = r."stoppedAt", stop_reason = r."stopReason"
from jsonb_to_recordset($1::jsonb) as r(id uuid, "nextAt" timestamptz, "dueAt" timestamptz, "stoppedAt" timestamptz, "stopReason" text)
where j.id = r.id`;

/** Ticks of a job that are retained. */
export const MAX_TICKS_PER_JOB = 1_000;

/** Deletes the oldest ticks of jobs that have more than are retained. */
export async function trimTicks(client: PoolClient, jobIDs: readonly string[]): Promise<void> {
  if (jobIDs.length > 0) await client.query(TRIM, [jobIDs]);
}

const TRIM = `
delete from cron_tick where id = any(array(
  select t.id from unnest($1::uuid[]) as job(id)
  cross join lateral (
    select scheduled_at from cron_tick t where t.cron_job_id = job.id order by t.scheduled_at desc offset ${MAX_TICKS_PER_JOB} limit 1
  ) last
  cross join lateral (
    select t.id from cron_tick t
    where t.cron_job_id = job.id and t.scheduled_at <= last.scheduled_at and t.status <> 'SCHEDULED' and t.backfill_id is null order by t.scheduled_at limit 1000
  ) t
))`;
