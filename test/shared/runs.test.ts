import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '#shared/json.ts';
import { RUN_CHANNEL, RunSignal } from '#shared/run-signals.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { noops } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';

let deployment: Deployment;
let versionID: string;
beforeAll(async () => {
  deployment = await startDeployment();
  versionID = await deployment.saveVersion(noops(1));
});
afterAll(() => deployment[Symbol.asyncDispose]());

test('a run that the database refuses fails alone, and the runs accepted at the same moment do not', async () => {
  const { runs, newRun } = deployment;
  const inputs: JsonObject[] = [{ n: 1 }, { n: 2, text: 'not storable: \u0000' }, { n: 3 }, { n: 4 }];

  const accepted = await Promise.allSettled(inputs.map((input) => runs.accept(newRun(versionID, input))));

  expect(accepted.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  const { rows } = await deployment.pool.query(`select input->>'n' as n from workflow_instance order by 1`);
  expect(rows.map(({ n }) => n)).toEqual(['1', '3', '4']);
});

test('the holders of many runs that are ended at once are all told', async () => {
  const told = new Set<string>();
  const unsubscribe = deployment.backplane.messages.subscribe(RUN_CHANNEL, (message) => {
    for (const { instanceID } of RunSignal.array().parse(message)) told.add(instanceID);
  });
  const ids = await deployment.runs.acceptMany(Array.from({ length: 350 }, () => deployment.newRun(versionID)));
  // A subscription begins in the background.
  await eventually(async () => {
    await deployment.backplane.messages.publish(RUN_CHANNEL, [{ kind: 'woken', instanceID: ids[0] }]);
    expect(told.size).toBe(1);
  });

  const { runs, tenantID } = deployment;
  await runs.end({ tenantID, ids, status: 'CANCELLED', error: null });

  await eventually(() => expect(told.size).toBe(350));
  unsubscribe();
});
