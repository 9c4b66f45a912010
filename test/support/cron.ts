import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { createLogger } from '#shared/core/logger.ts';
import { nextTick } from '#shared/triggers/cron/next-tick.ts';
import { type CronScheduler, createCronScheduler } from '#workers/triggers/cron/scheduler.ts';
import type { Deployment } from './deployment.ts';

type Needs = Parameters<typeof createCronScheduler>[0];

// The settings of tests are not read here: a bench makes rows with this file too.
const logger = createLogger({ level: 'silent' });

/** A tick that was due with its minute may be a minute old before a test begins, so here it is not late yet. */
const LATE_MS = 150_000;

/** A scheduler on the rows of a deployment, whose callers have every right. */
export function aCronScheduler(
  { pool, runs }: Pick<Deployment, 'pool' | 'runs'>,
  more: Partial<Needs> = {},
): CronScheduler {
  return createCronScheduler({ pool, runs, rights: { may: async () => true }, lateMs: LATE_MS, logger, ...more });
}

interface JobSettings {
  tenantID?: string;
  workflowID: string;
  schedule?: string;
  timezone?: string;
  /** Seconds ago that its next tick was due: a whole number of minutes. Absent: the next one of its calendar. */
  dueAgo?: number;
  columns?: JsonObject;
}

/** The minute that began so many seconds ago, by the clock of this process. */
export function minuteAgo(seconds: number): Date {
  return new Date(Math.floor((Date.now() - seconds * 1_000) / 60_000) * 60_000);
}

function dailyAt(moment: Date): string {
  return `${moment.getUTCMinutes()} ${moment.getUTCHours()} * * *`;
}

/** A row of a cron job whose next tick has the given age. */
export async function aCronJob(
  { pool, tenantID: own }: Pick<Deployment, 'pool' | 'tenantID'>,
  settings: JobSettings,
): Promise<string> {
  const { tenantID = own, workflowID, timezone = 'UTC', dueAgo, columns = {} } = settings;
  const due = dueAgo === undefined ? null : minuteAgo(dueAgo);
  // Once a day, so that no other tick is due while a test runs.
  const { schedule = due ? dailyAt(due) : '0 0 29 2 *' } = settings;
  const id = newID();
  const timed = { id, cronJobSchedule: schedule, timezone, jitterSeconds: 0 };
  const { nextAt } = due ? { nextAt: due } : nextTick(timed, Date.now());
  const row: JsonObject = {
    id,
    tenant_id: tenantID,
    cron_job_title: 'A cron job',
    cron_job_schedule: schedule,
    timezone,
    cron_job_enabled: true,
    cron_job_type: 'workflow',
    cron_job_config: { workflowID, inputValues: {} },
    overlap_policy: 'allow',
    missed_run_policy: 'skip',
    missed_run_window_seconds: 86_400,
    jitter_seconds: 0,
    timeout_seconds: 300,
    retry_attempts: 0,
    retry_delay_seconds: 60,
    creator_id: newID(),
    next_at: nextAt?.toISOString() ?? null,
    due_at: nextAt?.toISOString() ?? null,
    created_at: new Date().toISOString(),
    updated_at: new Date().toISOString(),
    ...columns,
  };
  await pool.query('insert into cron_job select * from jsonb_populate_record(null::cron_job, $1::jsonb)', [
    JSON.stringify(row),
  ]);
  return id;
}

export interface TickRow {
  id: string;
  scheduled_at: Date;
  last_scheduled_at: Date | null;
  trigger_type: string;
  status: string;
  outcome: string;
  reason: string | null;
  attempts: number;
  instance_id: string | null;
  fired_at: Date | null;
  start_at: Date | null;
  started_at: Date | null;
  finished_at: Date | null;
  error: JsonObject | null;
}

export async function ticksOf({ pool }: Pick<Deployment, 'pool'>, cronJobID: string): Promise<TickRow[]> {
  const { rows } = await pool.query<TickRow>('select * from cron_tick where cron_job_id = $1 order by scheduled_at', [
    cronJobID,
  ]);
  return rows;
}
