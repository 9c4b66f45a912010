import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createWakeTimer } from '#workers/engine/recovery/wake-timer.ts';
import { type Deployment, startDeployment } from '../../../support/deployment.ts';
import { testLogger } from '../../../support/environment.ts';
import { noops } from '../../../support/graphs.ts';
import { eventually } from '../../../support/settle.ts';

const COUNT = 3000;

/** Inserts parked runs whose waits end `inMs` from now. */
async function park({ pool, tenantID, saveVersion }: Deployment, count: number, inMs: number): Promise<void> {
  await pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, wake_at, deadline_at, caller)
     select uuidv7(), $1, $2, 'WAITING', now() + make_interval(secs => $4), now() + interval '1 hour', '{}' from generate_series(1, $3::int)`,
    [tenantID, await saveVersion(noops(1)), count, inMs / 1000],
  );
}

test('thousands of delays that end at once are woken in one round, by hundreds in a statement', async () => {
  await using deployment = await startDeployment();
  const { pool, runs } = deployment;
  await park(deployment, COUNT, -1);
  const batches: number[] = [];
  const counted = { ...runs, wake: (ids: readonly string[]) => runs.wake(ids).finally(() => batches.push(ids.length)) };
  await using wakeTimer = createWakeTimer({ pool, runs: counted, logger: testLogger, isLeader: () => true });

  await wakeTimer.fireDue();

  expect(batches.reduce((sum, size) => sum + size)).toBe(COUNT);
  expect(batches.length).toBeLessThanOrEqual(10);
  const { rows } = await pool.query('select from workflow_instance where ready_at is not null and wake_seq = 1');
  expect(rows).toHaveLength(COUNT);
});

test('a delay that is over is ended at once beside hundreds that end later, however old their runs are', async () => {
  await using deployment = await startDeployment();
  const { pool, runs } = deployment;
  // In the order of ids, these come first and fill a statement.
  await park(deployment, 600, 1_400);
  await park(deployment, 1, -1);
  await using wakeTimer = createWakeTimer({ pool, runs, logger: testLogger, isLeader: () => true });

  await wakeTimer.fireDue();

  const { rows } = await pool.query<{ due: boolean }>(
    'select wake_at < now() as due from workflow_instance where ready_at is not null',
  );
  expect(rows[0]).toEqual({ due: true });
});

test('a delay that ends between two rounds is ended at its time, and not before, also after others', async () => {
  await using deployment = await startDeployment();
  const { pool, runs } = deployment;
  await park(deployment, 1, -1);
  await park(deployment, 1, 400);
  await using wakeTimer = createWakeTimer({ pool, runs, logger: testLogger, isLeader: () => true });

  await wakeTimer.fireDue();

  const early = async () => {
    const { rows } = await pool.query<{ early: boolean }>(
      'select ready_at < wake_at as early from workflow_instance order by wake_at',
    );
    return rows.map((row) => row.early);
  };
  expect((await early())[0]).toBe(false);
  await eventually(async () => expect(await early()).toEqual([false, false]));
});

test('a process that leads no more wakes nothing, also what it has set its timer for', async () => {
  await using deployment = await startDeployment();
  const { pool, runs } = deployment;
  await park(deployment, 1, 300);
  let isLeader = true;
  await using wakeTimer = createWakeTimer({ pool, runs, logger: testLogger, isLeader: () => isLeader });
  await wakeTimer.fireDue();

  isLeader = false;
  await sleep(500);

  const { rows } = await pool.query('select from workflow_instance where ready_at is not null');
  expect(rows).toEqual([]);
});
