import { setTimeout as sleep } from 'node:timers/promises';
import { newID } from '#shared/core/ids.ts';
import type { Pool } from '#shared/db/pool.ts';
import { dueTime } from '#shared/triggers/cron/next-tick.ts';
import { aCronJob } from '#test/support/cron.ts';
import { percentile } from './environment.ts';
import { aCreator, aNoopWorkflow, anotherTenant } from './listener.ts';
import type { Row } from './row.ts';

const HERD = Number(process.env.HERD_JOBS ?? 10_000);
/** Jobs of the other tenant that are due while the herd is worked off, spread over these seconds. */
const LATER = 20;
const LATER_SECONDS = 20;
/** Time limit for setting the timers of the herd. */
const LEAD_MS = 25_000;
const TIMEOUT_MS = 180_000;
/** The other tenant's jobs may begin so late. */
const MARK_MS = 2_000;

/**
 * A herd: 10,000 cron jobs of one tenant on the same second, of one no-op each. Another tenant has one job on that second and twenty in
 * the twenty seconds after it. How late is each tick taken up, and how late does its run begin? `value`: the latest of the other tenant.
 */
export const herd: Row = async (environment) => {
  const { pool, tenantID } = environment;
  const other = await anotherTenant(pool);
  // None counts as missed on a slow machine: the row says how late they are.
  await environment.startWorker({ CRON_LATE_SECONDS: '600' });
  // Not for the next minute if that is too near.
  const minute = new Date(Math.ceil((Date.now() + LEAD_MS) / 60_000) * 60_000);
  await aHerd(pool, { tenantID, minute, count: HERD });
  await aHerd(pool, { tenantID: other, minute, count: 1 });
  await jobsAfterwards(pool, { tenantID: other, minute });
  const missing = await untilNone(pool, 'cron_job where alarm_set_in is null', minute.getTime());

  await sleep(Math.max(0, minute.getTime() - Date.now()));
  await untilNone(pool, 'cron_job where next_at <= now()', Date.now() + TIMEOUT_MS);
  const takenUpMs = Date.now() - minute.getTime();
  await untilNone(pool, `cron_tick where status = 'SCHEDULED'`, Date.now() + TIMEOUT_MS);
  const endedMs = Date.now() - minute.getTime();
  const times = await readTimes(pool);
  const [ofHerd, atOnce, afterwards] = [
    times.filter((each) => each.tenantID === tenantID),
    times.filter((each) => each.tenantID === other && each.jitter === 0),
    times.filter((each) => each.tenantID === other && each.jitter > 0),
  ];
  const value = Math.round(Math.max(...[...atOnce, ...afterwards].map(({ begun }) => begun)));
  const settings = {
    ...(await environment.settings()),
    jobs: times.length,
    doubled: times.length - new Set(times.map(({ id }) => id)).size,
    lost: HERD + 1 + LATER - times.length,
    timersMissingAtTheStart: missing,
    takenUpMs,
    endedMs,
    herdMs: shares(ofHerd),
    otherOnTheSecondMs: shares(atOnce),
    otherAfterwardsMs: shares(afterwards),
  };
  return [{ value, unit: 'ms', floor: MARK_MS, ratio: Number((value / MARK_MS).toFixed(3)), settings }];
};

interface Herd {
  tenantID: string;
  minute: Date;
}

/** Jobs that are due at a minute, each with a no-op workflow of their tenant. */
async function aHerd(pool: Pool, { tenantID, minute, count }: Herd & { count: number }): Promise<void> {
  const id = await aCronJob({ pool, tenantID }, await settingsOf(pool, { tenantID, minute }, 0));
  await pool.query(
    `insert into cron_job select (jsonb_populate_record(null::cron_job, to_jsonb(j) || jsonb_build_object('id', uuidv7()))).*
     from cron_job j, generate_series(2, $2::int) where j.id = $1`,
    [id, count],
  );
}

async function jobsAfterwards(pool: Pool, herd: Herd): Promise<void> {
  const settings = await settingsOf(pool, herd, LATER_SECONDS);
  for (let n = 0; n < LATER; n += 1) {
    const id = newID();
    const job = { id, cronJobSchedule: settings.schedule, timezone: 'UTC', jitterSeconds: LATER_SECONDS };
    const due_at = new Date(dueTime(job, herd.minute.getTime())).toISOString();
    await aCronJob({ pool, tenantID: herd.tenantID }, { ...settings, columns: { ...settings.columns, id, due_at } });
  }
}

async function settingsOf(pool: Pool, { tenantID, minute }: Herd, jitter: number) {
  const workflowID = await aNoopWorkflow(pool, tenantID);
  const at = minute.toISOString();
  const columns = {
    creator_id: await aCreator(pool, tenantID),
    jitter_seconds: jitter,
    ...{ next_at: at, due_at: at },
  };
  return { workflowID, schedule: `${minute.getUTCMinutes()} ${minute.getUTCHours()} * * *`, columns };
}

/** Answers with what is left at the end. */
async function untilNone(pool: Pool, what: string, end: number): Promise<number> {
  for (;;) {
    const { rows } = await pool.query<{ n: number }>(`select count(*)::int as n from ${what}`);
    const n = rows[0]?.n ?? 0;
    if (n === 0 || Date.now() >= end) return n;
    await sleep(250);
  }
}

interface Times {
  id: string;
  tenantID: string;
  jitter: number;
  /** Milliseconds after the tick was due. */
  fired: number;
  begun: number;
}

async function readTimes(pool: Pool): Promise<Times[]> {
  const { rows } = await pool.query<Times & { schedule: string; fired: Date; begun: Date; tick: Date }>(
    `select t.cron_job_id as id, t.tenant_id as "tenantID", j.jitter_seconds as jitter, j.cron_job_schedule as schedule,
       t.scheduled_at as tick, t.fired_at as fired, i.started_at as begun
     from cron_tick t join cron_job j on j.id = t.cron_job_id join workflow_instance i on i.cron_tick_id = t.id
     where t.status = 'SUCCESS'`,
  );
  return rows.map(({ schedule, tick, ...row }) => {
    const job = { id: row.id, cronJobSchedule: schedule, timezone: 'UTC', jitterSeconds: row.jitter };
    const due = dueTime(job, tick.getTime());
    return { ...row, fired: new Date(row.fired).getTime() - due, begun: new Date(row.begun).getTime() - due };
  });
}

function shares(times: readonly Times[]) {
  const of = (values: readonly number[]) => ({
    p50: percentile(values, 50),
    p99: percentile(values, 99),
    max: Math.max(...values),
  });
  return { fired: of(times.map(({ fired }) => fired)), begun: of(times.map(({ begun }) => begun)) };
}
