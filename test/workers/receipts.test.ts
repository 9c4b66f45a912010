import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/ids.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { testServers } from '../support/environment.ts';
import { aDataQuery, aDatasource, aTenant, type TestTenant } from '../support/factories.ts';
import { spawnNode } from '../support/process.ts';
import { eventually } from '../support/settle.ts';

const schema = `once_${newID().replaceAll('-', '')}`;
const PATIENCE_MS = 60_000;

let cluster: Cluster;
let tenant: TestTenant;
let server: pg.Client;
const resources = new AsyncDisposableStack();
beforeAll(async () => {
  cluster = resources.use(await startCluster({ workers: false }));
  tenant = await aTenant(cluster);
  server = new pg.Client({ connectionString: testServers.datasourceURL });
  await server.connect();
  resources.defer(() => server.end());
  await server.query(`create schema ${schema}; create table ${schema}.sold (id serial primary key, note text)`);
  resources.defer(async () => void (await server.query(`drop schema ${schema} cascade`)));
});
afterAll(() => resources.disposeAsync());

const admin = () => cluster.as(tenant.creator).in(tenant);

async function aWorkflowOnce(dataQueryID: string): Promise<string> {
  const { body } = await admin().post('T/workflows', {
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

test('a worker that is killed between the commit of a query and its own leaves the work done once, with its result', async () => {
  const query = `insert into ${schema}.sold (note) values ('a') returning id, note`;
  const { id: dataQueryID } = await aDataQuery(cluster, { tenant, query });
  const workflowID = await aWorkflowOnce(dataQueryID);
  // The statement waits for the table, the commit of the worker for the row of its run.
  const [ofTable, ofRun] = [
    new pg.Client({ connectionString: testServers.datasourceURL }),
    await cluster.pool.connect(),
  ];
  await ofTable.connect();
  await ofTable.query(`begin; lock table ${schema}.sold in access exclusive mode`);
  let instanceID = '';
  {
    await using worker = spawnNode(['workers/main.ts'], cluster.env);
    ({ instanceID } = (await admin().post(`T/workflows/${workflowID}/execute`, {})).body);
    await eventually(async () => {
      const { rows } = await server.query(
        `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%${schema}.sold%'`,
      );
      expect(rows).toHaveLength(1);
    }, PATIENCE_MS);
    await ofRun.query('begin');
    await ofRun.query('select from workflow_instance where id = $1 for update', [instanceID]);
    await ofTable.end();
    await eventually(async () => {
      const { rows } = await server.query(`select from ${schema}.sold`);
      expect(rows).toHaveLength(1);
    }, PATIENCE_MS);
    await worker.kill('SIGKILL');
  }
  await ofRun.query('rollback');
  ofRun.release();
  expect((await cluster.read(instanceID)).status).toBe('RUNNING');
  await cluster.pool.query('update worker_session set ended_at = now() where ended_at is null');

  await cluster.startWorker();
  await eventually(async () => expect((await cluster.read(instanceID)).status).toBe('COMPLETED'), PATIENCE_MS);

  const { rows: sold } = await server.query(`select id, note from ${schema}.sold`);
  expect(sold).toHaveLength(1);
  expect((await cluster.read(instanceID)).output).toEqual({ sold });
  expect((await cluster.events(instanceID)).findLast(({ node_id }) => node_id === 'sell')?.attempt).toBe(2);
}, 180_000);

test('a query that can write no receipt is refused when the node runs', async () => {
  const datasource = await aDatasource(cluster, {
    tenant,
    type: 'restapi',
    options: { baseURL: 'http://127.0.0.1:9' },
  });
  const { id } = await aDataQuery(cluster, { tenant, datasource, query: { apiEndpoint: '/', method: 'GET' } });
  const workflowID = await aWorkflowOnce(id);

  const { body } = await admin().post(`T/workflows/${workflowID}/execute?wait=30`, {});

  expect(body).toMatchObject({
    status: 'FAILED',
    error: {
      code: 'VALIDATION_ERROR',
      nodeID: 'sell',
      message: expect.stringContaining('exactlyOnce: a query of a datasource of type "restapi" cannot write a receipt'),
    },
  });
});
