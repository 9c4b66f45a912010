import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { noops } from '#test/support/graphs.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { createBatchFilling } from '#workers/runs/batches/fill.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment({ WORKER_SESSION_SECONDS: '2' });
});
afterAll(() => deployment[Symbol.asyncDispose]());

async function aRerun(workflowID: string, tenantID = deployment.tenantID): Promise<string> {
  const id = newID();
  const asked = { does: 'rerun', filter: { workflowID }, from: 'start', version: 'published' };
  const caller = { type: 'system', id: tenantID, origin: 'direct' };
  await deployment.pool.query(
    `insert into run_batch (id, tenant_id, workflow_id, kind, creator_id, caller, asked) values ($1, $2, $3, 'rerun', $2, $4, $5)`,
    [id, tenantID, workflowID, caller, asked],
  );
  return id;
}

test('a batch waits neither for those of another tenant, nor for one that cannot be filled', async () => {
  const { pool, runs } = deployment;
  const { workflowID } = await deployment.saveWorkflow(noops(1));
  const inFlight = { addMany: async (_tenantID: string, granted: number) => ({ granted, refusal: undefined }) };
  const fill = createBatchFilling({ pool, runs, rights: { may: async () => true }, inFlight });
  for (let n = 0; n < 3; n += 1) await aRerun(workflowID);
  await pool.query(`update run_batch set asked = '{}'`);
  const otherTenantID = newID();
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'Another', $1)`, [otherTenantID]);
  const other = await aRerun(workflowID, otherTenantID);

  await expect(fill()).rejects.toThrow();
  await fill();

  const { rows } = await pool.query('select id from run_batch where filled_at is not null');
  expect(rows).toEqual([{ id: other }]);
  await pool.query('delete from run_batch');
});

test('a job whose worker is killed goes on where it was, and repeats no run twice', async () => {
  const { pool, tenantID } = deployment;
  const { workflowID, versionID } = await deployment.saveWorkflow(noops(1));
  const sources = 400;
  await pool.query(SOURCES, [tenantID, workflowID, versionID, sources]);
  let batchID = '';
  const lookedAt = async () =>
    (await pool.query<{ looked_at: number }>('select looked_at from run_batch where id = $1', [batchID])).rows[0]
      ?.looked_at ?? 0;

  await using doomed = spawnNode(['workers/main.ts', 'datasource.tests'], deployment.env);
  batchID = await aRerun(workflowID);
  await eventually(async () => expect(await lookedAt()).toBeGreaterThan(0));
  await doomed.kill('SIGKILL');
  const before = await lookedAt();
  // Without the queue of runs: what counts is the batch.
  await deployment.startWorker({}, ['datasource.tests']);

  await eventually(async () => {
    const { rows } = await pool.query('select total, refused, looked_at, filled_at from run_batch where id = $1', [
      batchID,
    ]);
    expect(rows).toEqual([{ total: sources, refused: 0, looked_at: sources, filled_at: expect.any(Date) }]);
  });
  expect(before).toBeLessThan(sources);
  const { rows } = await pool.query<{ runs: number; sources: number }>(
    'select count(*)::int as runs, count(distinct rerun_of)::int as sources from workflow_instance where batch_id = $1',
    [batchID],
  );
  expect(rows).toEqual([{ runs: sources, sources }]);
});

// Several share a time, so that pages end between them.
const SOURCES = `
insert into workflow_instance (id, tenant_id, workflow_id, version_id, status, caller, deadline_at, completed_at, created_at)
select gen_random_uuid(), $1::uuid, $2::uuid, $3::uuid, 'FAILED', '{"origin":"direct"}', now(), now(), now() - make_interval(secs => n / 7)
from generate_series(1, $4::int) n`;
