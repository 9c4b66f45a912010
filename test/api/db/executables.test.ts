import { afterAll, beforeAll, expect, test } from 'vitest';
import { createExecutables } from '#api/db/executables.ts';
import type { Pool } from '#shared/db/pool.ts';
import { newID } from '#shared/ids.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { noops } from '#test/support/graphs.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

test('a version is read once, and the workflow each time', async () => {
  const { workflowID, versionID } = await deployment.saveWorkflow(noops(1), { workflowRunTimeout: 60 });
  const { texts, pool } = observed(deployment.pool);
  const executables = createExecutables(pool);

  for (let n = 0; n < 3; n += 1) {
    const workflow = await executables.find(deployment.tenantID, workflowID);
    expect(workflow).toEqual({ tenantID: deployment.tenantID, versionID, isDisabled: false });
    if (workflow) expect(await executables.version(workflow)).toMatchObject({ isDraft: false, timeoutMs: 60_000 });
  }

  expect(texts.filter((text) => text.includes('workflow_version'))).toHaveLength(1);
  expect(texts).toHaveLength(4);
});

test('workflows that are asked for at the same moment are found by one statement, each for its tenant', async () => {
  const saved = [await deployment.saveWorkflow(noops(1)), await deployment.saveWorkflow(noops(1))];
  const { texts, pool } = observed(deployment.pool);
  const executables = createExecutables(pool);

  const found = await Promise.all([
    ...saved.map(({ workflowID }) => executables.find(deployment.tenantID, workflowID)),
    executables.find(newID(), saved[0]?.workflowID ?? ''),
    executables.find(deployment.tenantID, newID()),
  ]);

  expect(found.map((workflow) => workflow?.versionID)).toEqual([
    ...saved.map(({ versionID }) => versionID),
    undefined,
    undefined,
  ]);
  expect(texts).toHaveLength(1);
});

test('kept versions are bounded in bytes, and one that is larger than the bound is answered', async () => {
  const inputs = (n: number, length: number) => ({ inputDefinitions: [{ key: `k${n}`, title: 'x'.repeat(length) }] });
  const { texts, pool } = observed(deployment.pool);
  const executables = createExecutables(pool, { versions: 100, bytes: 10_000 });
  const stored = async (n: number, length: number) => {
    const { versionID } = await deployment.saveWorkflow(noops(1), inputs(n, length));
    return { tenantID: deployment.tenantID, versionID, isDisabled: false };
  };
  const small = [await stored(1, 500), await stored(2, 500)];
  const large = await stored(3, 50_000);
  const readAll = async (workflows: typeof small) => {
    texts.length = 0;
    for (const workflow of workflows) expect((await executables.version(workflow)).inputDefinitions).toHaveLength(1);
    return texts.length;
  };

  expect(await readAll(small)).toBe(2);
  expect(await readAll(small)).toBe(0);
  expect(await readAll([large])).toBe(1);
  expect(await readAll(small)).toBe(2);
});

/** The pool, with the texts of its queries. */
function observed(real: Pool) {
  const texts: string[] = [];
  const query = (asked: string | { text: string }, ...more: unknown[]) => {
    texts.push(typeof asked === 'string' ? asked : asked.text);
    return Reflect.apply(real.query, real, [asked, ...more]);
  };
  return { texts, pool: { query } as unknown as Pool };
}
