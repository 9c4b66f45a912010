import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { type HTTPServer, startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import { type StatementProxy, startStatementProxy } from '#test/support/statement-proxy.ts';

let deployment: Deployment;
let proxy: StatementProxy;
let server: HTTPServer;
let answerMs = 0;
beforeAll(async () => {
  deployment = await startDeployment();
  proxy = await startStatementProxy(deployment.config.db.url);
  server = await startHTTP((_request, response) => void setTimeout(() => response.end('{"answer":42}'), answerMs));
  await deployment.startWorker({ DATABASE_URL: proxy.databaseURL });
});
afterAll(async () => {
  await deployment[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** A query of a stored REST datasource, or of a tenant's own database that no connection is open to. Its answers are kept. */
async function aQuery(type: 'restapi' | 'tenantdb'): Promise<{ tenantID: string; dataQueryID: string }> {
  const { pool } = deployment;
  const [tenantID, id, datasourceID] = [newID(), newID(), type === 'restapi' ? newID() : null];
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'Another', $1)`, [tenantID]);
  const options = type === 'restapi' ? { apiEndpoint: '/answer' } : { query: 'select 42 as answer' };
  if (datasourceID)
    await pool.query(
      `insert into datasource (id, tenant_id, datasource_title, datasource_type, datasource_options, creator_id)
       values ($1, $2, 'A service', 'restapi', $3, $1)`,
      [datasourceID, tenantID, { baseUrl: server.origin }],
    );
  await pool.query(
    `insert into data_query (id, tenant_id, data_query_title, datasource_id, datasource_type, data_query_options, creator_id)
     values ($1, $2, 'A query', $3, $4, $5, $1)`,
    [id, tenantID, datasourceID, type, { ...options, cacheSeconds: 600 }],
  );
  return { tenantID, dataQueryID: id };
}

test.each([
  ['restapi', 'the query', /from data_query /],
  ['restapi', 'kept answers', /select sealed from query_cache /],
  ['restapi', 'the datasource', /from datasource /],
  ['tenantdb', "the place of the tenant's database", /left join tenant_database /],
] as const)(
  'a node with a query of the type %s waits while Postgres is away when it reads %s',
  async (type, _, statement) => {
    const { tenantID, dataQueryID } = await aQuery(type);
    const versionID = await deployment.saveVersion(
      graph({ start: { type: 'start' }, ask: { type: 'dataQuery', dataQueryID, retryLimit: 0 } }, ['start>ask']),
    );
    let lost = 0;
    proxy.decide = ({ text }) => {
      if (!statement.test(text)) return 'pass';
      lost += 1;
      // The connection breaks, then there is no Postgres, and then it is back.
      if (lost === 1) {
        setTimeout(() => proxy.heal(), 400);
        return { lose: 'statement', onLost: () => proxy.cut() };
      }
      return 'pass';
    };

    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID, {}, { tenantID }));

    await eventually(async () => expect(['COMPLETED', 'FAILED']).toContain((await deployment.read(instanceID)).status));
    expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED', error: null });
    expect(lost).toBe(2);
  },
);

test('the time limit of a node does not run while Postgres is away', async () => {
  const { tenantID, dataQueryID } = await aQuery('restapi');
  // The clocks of the attempts before must not end the last one.
  answerMs = 1_500;
  const versionID = await deployment.saveVersion(
    graph({ start: { type: 'start' }, ask: { type: 'dataQuery', dataQueryID, retryLimit: 0, timeoutSeconds: 4 } }, [
      'start>ask',
    ]),
  );
  let cuts = 0;
  proxy.decide = ({ text }) => {
    if (cuts > 0 || !text.includes('from datasource ')) return 'pass';
    cuts += 1;
    setTimeout(() => proxy.heal(), 2_500);
    return { lose: 'statement', onLost: () => proxy.cut() };
  };

  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID, {}, { tenantID }));

  await eventually(async () => expect(['COMPLETED', 'FAILED']).toContain((await deployment.read(instanceID)).status));
  expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED', error: null });
  expect(cuts).toBe(1);
});
