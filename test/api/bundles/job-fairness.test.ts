import { afterAll, beforeAll, expect, test } from 'vitest';
import { claimJob, endJob, postponeJob } from '#api/bundles/jobs/store.ts';
import { newID } from '#shared/core/ids.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { freshDatabase } from '../../support/database.ts';
import { testLogger } from '../../support/environment.ts';

let pool: Pool;
const resources = new AsyncDisposableStack();
beforeAll(async () => {
  const { url } = resources.use(await freshDatabase());
  pool = createPool({ url, poolSize: 2 }, testLogger);
  resources.defer(() => pool.end());
});
afterAll(() => resources.disposeAsync());

/** A tenant of the creator with so many jobs, created at that minute. */
async function jobsOf(creatorID: string, count: number, minute: number): Promise<void> {
  const tenantID = newID();
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'T', $2)`, [tenantID, creatorID]);
  await pool.query(
    `insert into import_job (id, tenant_id, creator_id, request, total, is_planned, created_at)
     select uuidv7(), $1, $2, 'sealed', 1, false, timestamptz '2026-01-01' + make_interval(mins => $4)
     from generate_series(1, $3)`,
    [tenantID, creatorID, count, minute],
  );
}

async function claim() {
  const job = await claimJob(pool);
  return job && { job, creatorID: job.creatorID };
}

test('creators of tenants take order, however many jobs each has and however old these are', async () => {
  const [first = '', second = '', late = ''] = [newID(), newID(), newID()];
  await jobsOf(first, 3, 0);
  await jobsOf(first, 3, 1);
  await jobsOf(second, 5, 2);
  await jobsOf(late, 1, 3);

  const order: string[] = [];
  for (let claimed = await claim(); claimed && order.length < 6; claimed = await claim()) {
    order.push(claimed.creatorID);
    await endJob(pool, claimed.job, { status: 200, body: {} });
  }

  expect(order).toEqual([first, second, late, first, second, first]);
});

test('a creator has one job under way, and none while that is postponed', async () => {
  await pool.query('delete from import_job');
  const [one, other] = [newID(), newID()];
  await jobsOf(one, 2, 0);
  await jobsOf(other, 1, 1);

  const [begun, next, none] = [await claim(), await claim(), await claim()];
  if (begun) await postponeJob(pool, begun.job, 60);
  const afterwards = await claim();

  expect([begun?.creatorID, next?.creatorID, none, afterwards]).toEqual([one, other, null, null]);
});
