import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { testServers } from '../../support/environment.ts';
import { aDataQuery, aDatasource, aTenant, type TestTenant } from '../../support/factories.ts';
import { aWorkflowOnce, expectOneSaleOfKilledWorker } from '../../support/killed-between-commits.ts';

const schema = `once_${newID().replaceAll('-', '')}`;

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
  await server.query(`create schema ${schema}`);
  resources.defer(async () => void (await server.query(`drop schema ${schema} cascade`)));
});
afterAll(() => resources.disposeAsync());

const admin = () => cluster.as(tenant.creator).in(tenant);

test('a worker that is killed between the commit of a query and its own leaves the work done once, with its result', async () => {
  await server.query(
    `drop table if exists ${schema}.sold; create table ${schema}.sold (id serial primary key, note text)`,
  );
  const count = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%${schema}.sold%'`;
  await expectOneSaleOfKilledWorker(
    { cluster, tenant },
    {
      datasource: await aDatasource(cluster, { tenant }),
      query: `insert into ${schema}.sold (note) values ('a') returning id, note`,
      async hold() {
        const other = new pg.Client({ connectionString: testServers.datasourceURL });
        await other.connect();
        await other.query(`begin; lock table ${schema}.sold in access exclusive mode`);
        return { [Symbol.asyncDispose]: () => other.end() };
      },
      countWaiting: async () => (await server.query(count)).rows.length,
      readRows: async () => (await server.query(`select id, note from ${schema}.sold`)).rows,
    },
  );
}, 180_000);

test('a query that can write no receipt since it was changed is refused when the node runs', async () => {
  const { id } = await aDataQuery(cluster, { tenant });
  const workflowID = await aWorkflowOnce({ cluster, tenant }, id);
  const datasource = await aDatasource(cluster, {
    tenant,
    type: 'restapi',
    options: { baseURL: 'http://127.0.0.1:9' },
  });
  const changed = { datasourceType: 'restapi', dataQueryOptions: { apiEndpoint: '/', method: 'GET' } };
  const change = await admin().patch(`T/queries/${id}`, { datasourceID: datasource.id, ...changed });
  expect(change.status, JSON.stringify(change.body)).toBe(200);

  await using _worker = await cluster.startWorker();
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
