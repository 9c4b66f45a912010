import { expect, test } from 'vitest';
import { quotaNamesOf, readQuotas } from '#shared/access/quotas.ts';
import { newID } from '#shared/core/ids.ts';
import { onPool } from '#shared/db/query.ts';
import { startDeployment } from '../support/deployment.ts';
import { explaining } from '../support/explaining.ts';
import { addWaitingRuns } from '../support/waiting-runs.ts';

const RUNS_OF_ANOTHER = 20_000;

test('what a tenant uses of its quotas is counted without reading the runs of others', async () => {
  await using deployment = await startDeployment();
  const rowsRead = new Map<string, number>();
  const explained = onPool(explaining(deployment.pool, rowsRead));
  const names = quotaNamesOf('tenant');

  // The plan that is made while the table is empty is kept by a connection.
  await readQuotas(explained, names, newID());
  await addWaitingRuns(deployment, RUNS_OF_ANOTHER);
  for (let n = 0; n < 7; n += 1) await readQuotas(explained, names, newID());
  await deployment.pool.query('analyze workflow_instance');
  await readQuotas(explained, names, newID());

  expect([...rowsRead.values()].filter((rows) => rows > 100)).toEqual([]);
  expect(rowsRead.size).toBeGreaterThan(0);
});
