import { expect } from 'vitest';
import type { Cluster } from './cluster.ts';
import { aDataQuery, type TestDatasource, type TestTenant } from './factories.ts';
import { spawnNode } from './process.ts';
import { eventually } from './settle.ts';

/** A statement that adds a row, and the database that it is for. */
export interface Sale {
  datasource: TestDatasource;
  /** Returns the row. */
  query: string;
  /** The statement waits until the end of what this returns. */
  hold(): Promise<AsyncDisposable>;
  /** Number of statements that wait. */
  countWaiting(): Promise<number>;
  readRows(): Promise<unknown>;
}

interface CrashPoint {
  cluster: Cluster;
  tenant: TestTenant;
}

/** A real worker is killed after the commit of the statement, before its own; another one continues. */
export async function expectOneSaleOfKilledWorker(point: CrashPoint, sale: Sale): Promise<void> {
  const { cluster, tenant } = point;
  const { id: dataQueryID } = await aDataQuery(cluster, { tenant, datasource: sale.datasource, query: sale.query });
  const workflowID = await aWorkflowOnce(point, dataQueryID);
  const instanceID = await runUntilKilled(point, { workflowID, sale });
  expect((await cluster.read(instanceID)).status).toBe('RUNNING');
  await cluster.pool.query('update worker_session set ended_at = now() where ended_at is null');

  await using _worker = await cluster.startWorker();
  await eventually(async () => expect((await cluster.read(instanceID)).status).toBe('COMPLETED'));

  const sold = await sale.readRows();
  expect(sold).toHaveLength(1);
  expect((await cluster.read(instanceID)).output).toEqual({ sold });
  expect((await cluster.events(instanceID)).findLast(({ node_id }) => node_id === 'sell')?.attempt).toBe(2);
}

/** A workflow with one query, `exactlyOnce`. */
export async function aWorkflowOnce({ cluster, tenant }: CrashPoint, dataQueryID: string): Promise<string> {
  const { body } = await cluster
    .as(tenant.creator)
    .in(tenant)
    .post('T/workflows', {
      title: 'Sells once',
      workflowNodes: [
        { id: 'start', type: 'start', data: {} },
        { id: 'sell', type: 'dataQuery', data: { dataQueryID, exactlyOnce: true, outputVariable: 'sold' } },
        { id: 'end', type: 'end', data: { outputParameters: [{ name: 'sold', sourceVariable: '{{ctx.sold}}' }] } },
      ],
      workflowEdges: [
        { id: 'a', source: 'start', target: 'sell', sourceHandle: 'output' },
        { id: 'b', source: 'sell', target: 'end', sourceHandle: 'success' },
      ],
    });
  return body.workflow.id;
}

/** The statement waits for `hold`, the commit of the worker for the row of its run. */
async function runUntilKilled(
  { cluster, tenant }: CrashPoint,
  { workflowID, sale }: { workflowID: string; sale: Sale },
): Promise<string> {
  await using resources = new AsyncDisposableStack();
  const owned = resources.use(await sale.hold());
  const ofRun = await cluster.pool.connect();
  resources.defer(() => ofRun.release());
  const worker = resources.use(spawnNode(['workers/main.ts', 'workflow.runs'], cluster.env));
  const { body } = await cluster.as(tenant.creator).in(tenant).post(`T/workflows/${workflowID}/execute`, {});
  await eventually(async () => expect(await sale.countWaiting()).toBe(1));
  await ofRun.query('begin');
  await ofRun.query('select from workflow_instance where id = $1 for update', [body.instanceID]);
  await owned[Symbol.asyncDispose]();
  await eventually(async () => expect(await sale.readRows()).toHaveLength(1));
  await worker.kill('SIGKILL');
  await ofRun.query('rollback');
  return body.instanceID;
}
