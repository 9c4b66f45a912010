import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { insertRuns, type NewRun } from '#shared/runs/accept.ts';
import { createFailureRounds } from '#workers/runs/failure-handlers.ts';
import { type Deployment, startDeployment } from '../../support/deployment.ts';
import { explaining } from '../../support/explaining.ts';
import { noops } from '../../support/graphs.ts';
import { spawnNode } from '../../support/process.ts';
import { eventually } from '../../support/settle.ts';

let deployment: Deployment;
let versionID: string;
beforeAll(async () => {
  deployment = await startDeployment();
  versionID = await deployment.saveVersion(noops(1));
});
afterAll(() => deployment[Symbol.asyncDispose]());
beforeEach(async () => {
  for (const table of ['workflow_instance', 'run_failure']) await deployment.pool.query(`delete from ${table}`);
});

const aHandler = async (options: JsonObject = {}) => (await deployment.saveWorkflow(noops(1), options)).workflowID;

async function accept(more: Partial<NewRun>): Promise<string> {
  const [id = ''] = await insertRuns(deployment.pool, [deployment.newRun(versionID, { order: 7 }, more)]);
  return id;
}

const error = { code: 'NODE_FAILED', message: 'No such order', nodeID: 'order', attempt: 2 };
const fail = (ids: readonly string[], status: 'FAILED' | 'CANCELLED' = 'FAILED') =>
  deployment.runs.end({ tenantID: null, ids, status, error: status === 'FAILED' ? error : null });

type Needs = Parameters<typeof createFailureRounds>[0];

/** A caller with every right, and a tenant with room for its runs. */
const needs = (): Needs => ({
  pool: deployment.pool,
  runs: deployment.runs,
  rights: { may: async () => true },
  inFlight: { addMany: async (_tenantID, count) => ({ granted: count, refusal: undefined }) },
});

const handling = (more: Partial<Needs> = {}) => createFailureRounds({ ...needs(), ...more });

async function handleAll(more: Parameters<typeof handling>[0] = {}): Promise<void> {
  const handle = handling(more);
  while (await handle());
}

async function handlers() {
  const { rows } = await deployment.pool.query<{
    id: string;
    workflow_id: string;
    input: JsonObject;
    caller: JsonObject;
    on_failure: string | null;
  }>(`select id, workflow_id, input, caller, on_failure from workflow_instance where caller ->> 'origin' = 'workflow'`);
  return rows;
}

async function refusals() {
  const { rows } = await deployment.pool.query<{ error: string | null }>(
    'select error from run_failure where handled_at is not null and handler_instance_id is null',
  );
  return rows.map(({ error: message }) => message);
}

test('a failed run starts its handler once, with its id, error and input', async () => {
  const onFailure = await aHandler();
  const id = await accept({ onFailure });
  await fail([id]);
  await fail([id]);

  await handleAll();
  await handleAll();

  const caller = { type: 'system', id: deployment.tenantID, origin: 'workflow', originID: id };
  expect(await handlers()).toMatchObject([
    { workflow_id: onFailure, caller, input: { instanceID: id, workflowID: null, error, input: { order: 7 } } },
  ]);
  expect((await handlers())[0]?.input.error).toEqual(error);
});

test('a handler that fails starts nothing, even if its own workflow names a handler', async () => {
  const onFailure = await aHandler({ onFailure: { workflowID: await aHandler() } });
  await fail([await accept({ onFailure })]);
  await handleAll();
  const [handler] = await handlers();
  expect(handler?.on_failure).toBeNull();

  await fail([handler?.id ?? '']);
  await handleAll();

  expect(await handlers()).toHaveLength(1);
});

test('a cancelled run, a test, and a run without a handler start none', async () => {
  const onFailure = await aHandler();
  await fail([await accept({ onFailure })], 'CANCELLED');
  await fail([await accept({ onFailure, isTest: true }), await accept({})]);

  await handleAll();

  expect(await handlers()).toEqual([]);
});

test.each([
  [
    'whose caller may not execute it',
    {},
    { may: false },
    'There is no such workflow, or the caller of the failed run may not execute it',
  ],
  [
    'that is gone',
    { removed: true },
    {},
    'There is no such workflow, or the caller of the failed run may not execute it',
  ],
  ['that is disabled', { set: 'is_disabled = true' }, {}, 'The workflow is disabled'],
  ['that has drafts only', { set: 'version_id = null' }, {}, 'The workflow has drafts only: publish a version of it'],
  [
    'that wants other inputs',
    { options: { inputDefinitions: [{ key: 'mood', required: true }] } },
    {},
    expect.stringMatching(/input\.mood: is required/),
  ],
])('a handler %s is not started, and the failure says why', async (_what, workflow, rights, message) => {
  const { removed, set, options } = workflow as { removed?: boolean; set?: string; options?: JsonObject };
  const onFailure = removed ? newID() : await aHandler(options);
  if (set) await deployment.pool.query(`update workflow set ${set} where id = $1`, [onFailure]);
  await fail([await accept({ onFailure })]);

  await handleAll({ rights: { may: async () => !('may' in rights) } });

  expect(await handlers()).toEqual([]);
  expect(await refusals()).toEqual([message]);
});

test('tenants take turns, and one at its quota waits without holding up others', async () => {
  const onFailure = await aHandler();
  const ids: string[] = [];
  for (let n = 0; n < 25; n += 1) ids.push(await accept({ onFailure }));
  const other = newID();
  await deployment.pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'T', $1)`, [other]);
  ids.push(await accept({ onFailure, tenantID: other }));
  await fail(ids);

  const handle = handling();
  await handle();
  await handle();
  expect(await handlers()).toHaveLength(10);
  // The workflow is not one of that tenant.
  expect(await refusals()).toHaveLength(1);

  await handleAll({ inFlight: { addMany: async () => ({ granted: 0, refusal: undefined }) } });
  expect(await handlers()).toHaveLength(10);
  await handleAll();
  expect(await handlers()).toHaveLength(25);
});

test.each(['before-commit', 'after-commit'])(
  'a worker that is killed %s leaves the handler started once',
  async (point) => {
    const onFailure = await aHandler();
    await fail([await accept({ onFailure })]);

    await using worker = spawnNode(['test/workers/runs/handle-failures-and-die.ts', point], deployment.env);
    await eventually(() => expect(worker.child.signalCode).toBe('SIGKILL'));
    expect(await handlers()).toHaveLength(point === 'after-commit' ? 1 : 0);
    // The locks of the dead worker end with its connection.
    await eventually(async () => {
      await handleAll();
      expect(await handlers()).toHaveLength(1);
    });

    await handleAll();
    expect(await handlers()).toHaveLength(1);
  },
);

test('looking for failures reads none that are handled, also with a plan made beside an empty table', async () => {
  const { pool, tenantID } = deployment;
  const rowsRead = new Map<string, number>();
  await createFailureRounds({ ...needs(), pool: explaining(pool, rowsRead) })();
  const [text = ''] = rowsRead.keys();
  const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, [tenantID]);
  const plan = rows.map((row) => row['QUERY PLAN']).join(' ');
  expect([...plan.matchAll(/using (\w+) on run_failure/g)].map(([, index]) => index)).toEqual([
    'run_failure_open',
    'run_failure_open',
  ]);

  await pool.query(
    `insert into run_failure (instance_id, tenant_id, handler_id, handled_at) select uuidv7(), $1, $1, now() from generate_series(1, 5000)`,
    [tenantID],
  );
  await fail([await accept({ onFailure: await aHandler() })]);
  await createFailureRounds({ ...needs(), pool: explaining(pool, rowsRead) })();
  expect(await handlers()).toHaveLength(1);
  expect(rowsRead.get(text)).toBeLessThan(10);
});
