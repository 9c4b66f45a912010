import { expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createRuns } from '#shared/runs/runs.ts';
import { createEvents } from '#shared/runs/send-event.ts';
import { createSweep } from '#workers/engine/recovery/sweep.ts';
import { startDeployment } from '../../../support/deployment.ts';
import { testLogger } from '../../../support/environment.ts';
import { explaining } from '../../../support/explaining.ts';
import { addWaitingRuns } from '../../../support/waiting-runs.ts';

const WAITING = 20_000;
/** A statement may read every run of the window, which is full: 1.25 runs for each of 50 slots. */
const MOST_ROWS = 300;
/** A round reads 500 of the runs that only wait, and whether each has a wait. */
const MOST_LOOKED_AT = 1_000;

test('no statement of a round reads the runs that only wait', async () => {
  await using deployment = await startDeployment();
  const { pool, producer, backplane, config } = deployment;
  await addWaitingRuns(deployment, WAITING);
  await pool.query(
    `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 50, 't')`,
    [newID()],
  );
  const rowsRead = new Map<string, number>();
  const explained = explaining(pool, rowsRead);
  const runs = createRuns({
    pool: explained,
    dispatchPool: explained,
    producer,
    messages: backplane.messages,
    logger: testLogger,
  });
  const { leaseMs } = config.worker;
  const events = createEvents({ pool: explained, runs, rights: { may: async () => true } });
  const options = { runs, producer, backplane, logger: testLogger, leaseMs, events };
  await using sweep = createSweep({ ...options, pool: explained, leasePool: explained, onPressure: () => undefined });

  // The first round has every step of the sweep, and the second finds the window full.
  for (let round = 0; round < 2; round += 1) await sweep.once();

  expect(rowsRead.size).toBeGreaterThan(10);
  const tooMany = [...rowsRead].filter(
    ([statement, rows]) => rows > (statement.includes('looked_at') ? MOST_LOOKED_AT : MOST_ROWS),
  );
  expect(tooMany).toEqual([]);
});
