import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { WorkerContext } from '#workers/process/worker.ts';
import { type Deployment, startDeployment } from '../../support/deployment.ts';
import { code, graph, noop } from '../../support/graphs.ts';
import { type HTTPServer, startHTTP } from '../../support/http-server.ts';
import { eventually } from '../../support/settle.ts';

const SLOTS = 10;

let deployment: Deployment;
let worker: WorkerContext;
let server: HTTPServer;
let neighbourID: string;
beforeAll(async () => {
  deployment = await startDeployment({ WORKER_SLOTS: String(SLOTS), HELD_RUNS_MAX_BYTES: '2000000' });
  worker = await deployment.startWorker();
  // Answers only what is asked for at once.
  server = await startHTTP(({ url }, response) => void (url === '/fast' && response.end('{}')));
  neighbourID = newID();
  await deployment.pool.query('insert into tenant (id, tenant_title, creator_id) values ($1, $2, $3)', [
    neighbourID,
    'A neighbour',
    newID(),
  ]);
});
afterEach(async () => {
  const { rows } = await deployment.pool.query<{ id: string }>(
    'select id from workflow_instance where completed_at is null',
  );
  await deployment.runs.end({ tenantID: null, ids: rows.map(({ id }) => id), status: 'CANCELLED', error: null });
  await eventually(() => expect(worker.engine.stats.slotsUsed).toBe(0));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await deployment[Symbol.asyncDispose]();
});

/** Starts runs of the busy tenant, each with `width` nodes side by side. */
async function startBusy(count: number, width: number, node: { type: string }, input = {}): Promise<string[]> {
  const names = Array.from({ length: width }, (_, index) => `busy${index}`);
  const versionID = await deployment.saveVersion(
    graph(
      { start: { type: 'start' }, ...Object.fromEntries(names.map((name) => [name, node])) },
      names.map((name) => `start>${name}`),
    ),
    // Longer than any wait of the tests.
    { defaultNodeTimeoutSeconds: 600 },
  );
  return await deployment.runs.acceptMany(Array.from({ length: count }, () => deployment.newRun(versionID, input)));
}

/** Runs one node of the neighbour, and waits for the end. The nodes of the busy tenant do not end meanwhile. */
async function neighbourCompletes(node: { type: string }): Promise<void> {
  const versionID = await deployment.saveVersion(graph({ start: { type: 'start' }, node }, ['start>node']));
  // The turn of a run is that of its tenant's creator, which comes with the version.
  await deployment.pool.query('update workflow_version set tenant_id = $1 where id = $2', [neighbourID, versionID]);
  const caller = { type: 'system', id: neighbourID, origin: 'direct' } as const;
  const { instanceID } = await deployment.runs.accept(
    deployment.newRun(versionID, {}, { tenantID: neighbourID, caller }),
  );
  await eventually(async () => expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED' }));
}

/** Waits until all nodes of these runs have started. */
async function areRunning(ids: readonly string[], width: number): Promise<void> {
  await eventually(async () => {
    for (const id of ids) expect((await deployment.read(id)).seq).toBeGreaterThan(width);
  });
}

const slowCall = () => ({ type: 'http', method: 'GET', url: `${server.origin}/slow` });
const endlessCode = code('while (true) {}');

describe('beside a run of 200 nodes that wait for a server', () => {
  test("another tenant's no-op runs", async () => {
    const ids = await startBusy(1, 200, slowCall());
    await areRunning(ids, 200);
    await eventually(() => expect(server.seen.length).toBeGreaterThanOrEqual(4));

    await neighbourCompletes(noop);
  });

  test("another tenant's request to the same server is answered", async () => {
    const ids = await startBusy(1, 200, slowCall());
    await areRunning(ids, 200);

    await neighbourCompletes({ ...slowCall(), url: `${server.origin}/fast` } as { type: string });
  });
});

describe('beside 40 code nodes that never end', () => {
  test("another tenant's no-op and code run", async () => {
    const ids = await startBusy(8, 5, endlessCode);
    await areRunning(ids, 5);

    await neighbourCompletes(noop);
    await neighbourCompletes(code('return 1'));
    for (const id of ids) expect(await deployment.read(id)).toMatchObject({ status: 'RUNNING' });
  });
});

describe('beside runs that wait for a server, and whose inputs take the memory for runs', () => {
  test("another tenant's no-ops run", async () => {
    const [asked, input] = [server.seen.length, { text: 'x'.repeat(430_000) }];
    await startBusy(12, 1, slowCall(), input);
    await eventually(() => expect(server.seen.length).toBeGreaterThanOrEqual(asked + 3));

    await neighbourCompletes(noop);
    await neighbourCompletes(noop);
  });
});
