import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { calendarOf } from '#shared/core/cron-calendar.ts';
import { newID } from '#shared/core/ids.ts';
import { cronTicks } from '#shared/messaging/queues/cron-ticks.ts';
import type { ProcessorContext } from '#workers/processors/consume.ts';
import { processCronTick } from '#workers/processors/cron-ticks.ts';
import { createCronTimers } from '#workers/triggers/cron/timers.ts';
import { redisURL } from '../../../support/backplane.ts';
import { aCronJob } from '../../../support/cron.ts';
import { type Deployment, startDeployment } from '../../../support/deployment.ts';
import { explaining } from '../../../support/explaining.ts';
import { eventually } from '../../../support/settle.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());
beforeEach(async () => {
  const { pool, backplane } = deployment;
  const { rows } = await pool.query<{ id: string }>('delete from cron_job returning id');
  for (const { id } of rows) await backplane.removeTimer(cronTicks.name, id);
  await backplane.markAlive(newID());
});

const queue = () => deployment.backplane.queue(cronTicks.name);
const timers = () => createCronTimers(deployment);
const aJob = (schedule = '*/5 * * * *') =>
  aCronJob(deployment, { workflowID: newID(), schedule, timezone: 'Asia/Kathmandu' });
const timerOf = async (id: string) => (await queue().getJobScheduler(id))?.next;

/** As FLUSHALL, for this deployment only: other files of the run share the server. */
async function loseQueues(): Promise<void> {
  const redis = new Redis(redisURL ?? '');
  const keys = await redis.keys(`${deployment.env.BACKPLANE_PREFIX}*`);
  if (keys.length > 0) await redis.unlink(...keys);
  redis.disconnect();
}

test('every job has a timer at its next tick, which follows a changed calendar', async () => {
  const id = await aJob();

  expect(await timers().set()).toBe(1);
  expect(await timers().set()).toBe(0);
  expect(await timerOf(id)).toBe(calendarOf('*/5 * * * *', 'Asia/Kathmandu').next(Date.now()));
  await deployment.pool.query(
    `update cron_job set cron_job_schedule = '0 0 29 2 *', alarm_set_in = null where id = $1`,
    [id],
  );
  expect(await timers().set()).toBe(1);
  expect(await timerOf(id)).toBe(calendarOf('0 0 29 2 *', 'Asia/Kathmandu').next(Date.now()));
});

test('a job that is disabled or stopped loses its timer', async () => {
  const ids = [await aJob(), await aJob()];
  await timers().set();
  await deployment.pool.query('update cron_job set cron_job_enabled = false where id = $1', [ids[0]]);
  await deployment.pool.query('update cron_job set stopped_at = now() where id = $1', [ids[1]]);

  await timers().set();

  expect(await Promise.all(ids.map(timerOf))).toEqual([undefined, undefined]);
  const { rows } = await deployment.pool.query('select from cron_job where alarm_set_in is not null');
  expect(rows).toEqual([]);
});

test('timers are set again after the queues have lost their data', async ({ skip }) => {
  if (!redisURL) skip('on Postgres the queues are lost only with the rows');
  const ids = [await aJob(), await aJob()];
  await timers().set();
  await loseQueues();

  expect(await timers().set()).toBe(0);
  // As the sweep does within ten seconds.
  await deployment.backplane.markAlive(newID());
  expect(await timers().set()).toBe(2);

  expect(await Promise.all(ids.map(timerOf))).toEqual([expect.any(Number), expect.any(Number)]);
});

test('a timer polls the jobs that are due, and that of a deleted job ends', async () => {
  const { pool, backplane } = deployment;
  const ids = [await aJob(), await aJob()];
  await timers().set();
  await pool.query('delete from cron_job where id = $1', [ids[1]]);
  let rings = 0;
  const poll = async () => {
    rings += 1;
  };
  // The processor of ticks uses no other part.
  const context = { cron: { poll }, backplane, pool } as unknown as ProcessorContext;
  const { signal } = new AbortController();
  const outcomes: string[] = [];
  const worker = backplane.worker(
    cronTicks.name,
    async (job) => {
      const { outcome } = await processCronTick({ payload: cronTicks.payload.parse(job.data), signal }, context);
      outcomes.push(outcome);
    },
    { concurrency: 2, maxStalledCount: 1, leaseMs: 5_000 },
  );
  void worker.run();
  await using _ = { [Symbol.asyncDispose]: () => worker.close() };

  // Its time has not come: it is put before the others, as when it has.
  for (const job of await queue().getDelayed()) await job.promote();

  await eventually(() => expect(outcomes.sort()).toEqual(['looked', 'no such job']));
  expect(rings).toBe(1);
  // The next one is in the queue, by the same calendar.
  await eventually(async () =>
    expect((await queue().getDelayed()).map(({ data }) => data.cronJobID)).toEqual([ids[0]]),
  );
  expect(await timerOf(ids[1] ?? '')).toBeUndefined();
});

test('the search for missing timers reads no others, also with a plan made beside an empty table', async () => {
  const { pool } = deployment;
  const rowsRead = new Map<string, number>();
  const set = () => createCronTimers({ ...deployment, pool: explaining(pool, rowsRead) }).set();
  await set();
  expect([...rowsRead.keys()].length).toBe(2);

  const id = await aJob();
  await timers().set();
  await pool.query(
    `insert into cron_job select (jsonb_populate_record(null::cron_job, to_jsonb(j) || jsonb_build_object('id', uuidv7()))).* from cron_job j, generate_series(1, 2000) where j.id = $1`,
    [id],
  );
  await aJob();
  rowsRead.clear();
  expect(await set()).toBe(1);
  expect([...rowsRead].filter(([, rows]) => rows >= 10)).toEqual([]);
});
