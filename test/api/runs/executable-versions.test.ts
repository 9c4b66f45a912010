import { afterAll, beforeAll, expect, test } from 'vitest';
import { createExecutableVersions } from '#api/runs/executable-versions.ts';
import { newID } from '#shared/core/ids.ts';
import type { Pool } from '#shared/db/pool.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { noops } from '#test/support/graphs.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

test('a version is read once, also by requests of the same moment', async () => {
  const versionID = await deployment.saveVersion(noops(1), { workflowRunTimeout: 60 });
  const { texts, pool } = observed(deployment.pool);
  const read = createExecutableVersions(pool);
  const version = { tenantID: deployment.tenantID, versionID };

  for (const found of await Promise.all([read(version), read(version)]))
    expect(found).toMatchObject({ isEmpty: false, timeoutMs: 60_000 });
  await read(version);

  expect(texts).toHaveLength(1);
});

test('a version that cannot be read now is read again at the next request', async () => {
  const versionID = newID();
  const read = createExecutableVersions(deployment.pool);
  const version = { tenantID: deployment.tenantID, versionID };
  await expect(read(version)).rejects.toThrow();

  await deployment.pool.query('insert into workflow_version (id, tenant_id, nodes, edges) values ($1, $2, $3, $3)', [
    versionID,
    deployment.tenantID,
    '[]',
  ]);

  expect(await read(version)).toMatchObject({ isEmpty: true });
});

test('kept versions are bounded in bytes, and one that is larger than the bound is answered', async () => {
  const inputs = (n: number, length: number) => ({ inputDefinitions: [{ key: `k${n}`, title: 'x'.repeat(length) }] });
  const { texts, pool } = observed(deployment.pool);
  const read = createExecutableVersions(pool, { versions: 100, bytes: 10_000 });
  const stored = async (n: number, length: number) => ({
    tenantID: deployment.tenantID,
    versionID: await deployment.saveVersion(noops(1), inputs(n, length)),
  });
  const small = [await stored(1, 500), await stored(2, 500)];
  const large = await stored(3, 50_000);
  const readAll = async (versions: typeof small) => {
    texts.length = 0;
    for (const version of versions) expect((await read(version)).inputDefinitions).toHaveLength(1);
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
