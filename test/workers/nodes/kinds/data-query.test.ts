import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import type { Client } from '#test/support/client.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { countActive } from '#test/support/database.ts';
import {
  aDataQuery,
  aDatasource,
  aMember,
  anApiKey,
  aTenant,
  chain,
  type TestTenant,
} from '#test/support/factories.ts';
import { eventually } from '#test/support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
let admin: Client;
beforeAll(async () => {
  cluster = await startCluster();
  tenant = await aTenant(cluster);
  admin = cluster.as(tenant.creator).in(tenant);
});
afterAll(() => cluster[Symbol.asyncDispose]());

function queryGraph(dataQueryID: string, more: object = {}) {
  return chain({ ask: { type: 'dataQuery', dataQueryID, ...more } }, { result: '{{ctx.queryResult}}' });
}

async function saved(graph: object): Promise<string> {
  const { status, body } = await admin.post('T/workflows', { title: 'Asks', ...graph });
  expect(body).toMatchObject({ success: true });
  expect(status).toBe(201);
  return body.workflow.id;
}

function execute(workflowID: string, args: object = {}, as = admin) {
  return as.post(`T/workflows/${workflowID}/execute?wait=20`, { args });
}

describe('a dataQuery node', () => {
  test('runs the query with its inputs, and its value is the rows', async () => {
    const { id } = await aDataQuery(cluster, {
      tenant,
      query: 'select n, {{inputs.word}}::text as word from generate_series(1, {{inputs.n}}::int) n',
    });
    const workflow = await saved(
      queryGraph(id, { inputValues: { n: '{{ctx.input.n}}', word: 'a "{{ctx.input.word}}"' } }),
    );

    const { body } = await execute(workflow, { n: 2, word: "'; --" });

    expect(body).toMatchObject({
      status: 'COMPLETED',
      output: {
        result: [
          { n: 1, word: `a "'; --"` },
          { n: 2, word: `a "'; --"` },
        ],
      },
    });
    const instance = (await admin.get(`T/workflows/instances/${body.instanceID}`)).body;
    const output = instance.timeline.findLast(({ nodeID }: { nodeID: string }) => nodeID === 'ask')?.output;
    expect(output).toEqual({ queryResult: body.output.result, success: true });
    await eventually(async () =>
      expect((await admin.get(`T/queries/${id}/runs`)).body.runs).toMatchObject([
        { caller: { type: 'user', id: tenant.creator.id, origin: 'workflow', originID: workflow }, rowCount: 2 },
      ]),
    );
  });

  test('tells when rows were left out', async () => {
    const { id } = await aDataQuery(cluster, {
      tenant,
      query: { query: 'select generate_series(1, 10) as n', maxRows: 2 },
    });
    const graph = chain(
      { ask: { type: 'dataQuery', dataQueryID: id, outputVariable: 'rows' } },
      { rows: '{{ctx.rows}}' },
    );
    const { body } = await execute(await saved(graph));

    const { timeline } = (await admin.get(`T/workflows/instances/${body.instanceID}`)).body;
    expect(body.output.rows).toEqual([{ n: 1 }, { n: 2 }]);
    expect(timeline.findLast(({ nodeID }: { nodeID: string }) => nodeID === 'ask')?.output).toMatchObject({
      truncated: true,
    });
  });

  test("uses the tenant's own database when the query names no datasource", async () => {
    const created = await admin.post('T/queries', {
      dataQueryTitle: 'Own',
      dataQueryOptions: { query: 'select current_database() as name' },
    });

    const { body } = await execute(await saved(queryGraph(created.body.dataQuery.id)));

    const { rows } = await cluster.pool.query(
      'select database_name as name from tenant_database where tenant_id = $1',
      [tenant.id],
    );
    expect(body).toMatchObject({ status: 'COMPLETED', output: { result: rows } });
    expect(rows).toHaveLength(1);
  });

  test('fails with the error of the server, and is not retried', async () => {
    const { id } = await aDataQuery(cluster, { tenant, query: 'select * from not_there' });
    const { body } = await execute(await saved(queryGraph(id, { retryLimit: 3, retryDelaySeconds: 0 })));

    expect(body).toMatchObject({
      status: 'FAILED',
      error: { code: 'DB_ERROR', nodeID: 'ask', attempt: 1, message: expect.stringContaining('not_there') },
    });
  });

  test('names an invalid input by its path in the config', async () => {
    const query = { query: 'select {{inputs.n}}::int as n', inputDefinitions: [{ key: 'n', type: 'number' }] };
    const { id } = await aDataQuery(cluster, { tenant, query });

    const { body } = await execute(await saved(queryGraph(id, { inputValues: { n: 'many' } })));

    expect(body).toMatchObject({
      status: 'FAILED',
      error: { code: 'VALIDATION_ERROR', nodeID: 'ask', message: expect.stringMatching(/^inputValues\.n: /) },
    });
  });

  test('leaves by its error exit if that has an edge', async () => {
    const { id } = await aDataQuery(cluster, { tenant, isDisabled: true });
    const graph = queryGraph(id);
    graph.edges.push({ id: 'handled', source: 'ask', sourceHandle: 'error', target: 'end' });

    const { body } = await execute(await saved(graph));

    expect(body).toMatchObject({ status: 'COMPLETED', output: { result: null } });
  });

  test('ends at its time limit, and so does the query at the server', async () => {
    const marker = `late_${newID().replaceAll('-', '')}`;
    const { id } = await aDataQuery(cluster, { tenant, query: `select pg_sleep(300) as ${marker}` });

    const { body } = await execute(await saved(queryGraph(id, { timeoutSeconds: 1 })));

    expect(body).toMatchObject({ status: 'FAILED', error: { code: 'NODE_TIMEOUT', nodeID: 'ask' } });
    await eventually(async () => expect(await countActive(marker)).toBe(0));
  });

  test('is cancelled with its run, at the server too', async () => {
    const marker = `stopped_${newID().replaceAll('-', '')}`;
    const { id } = await aDataQuery(cluster, { tenant, query: `select pg_sleep(300) as ${marker}` });
    const workflow = await saved(queryGraph(id));
    const { instanceID } = (await admin.post(`T/workflows/${workflow}/execute`, {})).body;
    await eventually(async () => expect(await countActive(marker)).toBe(1));

    const { body } = await admin.delete(`T/workflows/instances/${instanceID}/stop`);

    expect(body.status).toBe('CANCELLED');
    await eventually(async () => expect(await countActive(marker)).toBe(0));
  });
});

describe('saving a graph', () => {
  test('requires that every query it names exists and that the caller may execute it', async () => {
    const { id } = await aDataQuery(cluster, { tenant });
    const rules = [{ object: `dataquery:${id}`, action: 'execute' }];
    const [may, mayNot] = [
      await aMember(cluster, { tenant, can: ['workflow.create', 'workflow.test'], rules }),
      await aMember(cluster, { tenant, can: ['workflow.create', 'workflow.test', 'dataquery.read'] }),
    ];
    const create = (member: typeof may) =>
      cluster
        .as(member)
        .in(tenant)
        .post('T/workflows', { title: 'Asks', ...queryGraph(id.toUpperCase()) });

    expect((await create(may)).status).toBe(201);
    expect((await create(mayNot)).status).toBe(403);
    expect((await cluster.as(mayNot).in(tenant).post('T/workflows/test', queryGraph(id))).status).toBe(403);
    expect((await admin.post('T/workflows', { title: 'Asks', ...queryGraph(newID()) })).body.error.message).toBe(
      'nodes.1.data.dataQueryID: there is no such data query',
    );
  });

  test('cannot be saved to run exactly once what can write no receipt, except as a draft', async () => {
    const rest = await aDatasource(cluster, { tenant, type: 'restapi', options: { baseURL: 'http://127.0.0.1:9' } });
    const { id } = await aDataQuery(cluster, { tenant, datasource: rest, query: { apiEndpoint: '/', method: 'GET' } });
    const { id: sql } = await aDataQuery(cluster, { tenant });
    const once = queryGraph(id.toUpperCase(), { exactlyOnce: true });
    const path = ['nodes', 1, 'data', 'exactlyOnce'];
    const message = 'a query of a datasource of type "restapi" cannot write a receipt';
    const refused = {
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR', details: { issues: [{ path, message }] } } },
    };

    expect(await admin.post('T/workflows', { title: 'Asks', ...once })).toMatchObject(refused);
    const workflow = await saved(queryGraph(sql, { exactlyOnce: true }));
    expect(await admin.patch(`T/workflows/${workflow}`, once)).toMatchObject(refused);
    await saved(queryGraph(id, { exactlyOnce: false }));

    const draft = await saved({ ...once, draft: true });
    const [problem] = (await admin.post(`T/workflows/${draft}/plan`)).body.problems;
    expect(problem).toEqual({ kind: 'query', nodeID: 'ask', path: 'workflowNodes.1.data.exactlyOnce', message });
  });

  test('suggests braces for a value that is a path', async () => {
    const { id } = await aDataQuery(cluster, { tenant });
    const { body } = await admin.post('T/workflows', {
      title: 'Asks',
      ...queryGraph(id, { inputValues: { n: 'ctx.input.n' } }),
    });
    expect(body.error.message).toContain('write {{ctx.input.n}}');
  });
});

describe('a caller who may execute the workflow and not the query', () => {
  test('runs the query that the saved graph names, because its author could execute it', async () => {
    const { id } = await aDataQuery(cluster, { tenant });
    const workflow = await saved(queryGraph(id));
    const rules = [{ object: `workflow:${workflow}`, action: 'execute' }];
    const member = await aMember(cluster, { tenant, rules });
    const own = cluster.as(member).in(tenant);

    expect((await own.post(`T/queries/${id}/run`)).status).toBe(403);
    expect((await execute(workflow, {}, own)).body).toMatchObject({
      status: 'COMPLETED',
      output: { result: [{ n: 1 }] },
    });

    const key = await anApiKey(cluster, { tenant, can: ['workflow.execute'] });
    expect((await execute(workflow, {}, cluster.withKey(key).in(tenant))).body.status).toBe('COMPLETED');
  });

  test('cannot choose a query by a template, unlike a caller who may execute the query', async () => {
    const { id } = await aDataQuery(cluster, { tenant });
    const workflow = await saved(queryGraph('{{ctx.input.query}}'));
    const rules = [{ object: `workflow:${workflow}`, action: 'execute' }];
    const without = await aMember(cluster, { tenant, rules });
    const withIt = await aMember(cluster, {
      tenant,
      rules: [...rules, { object: `dataquery:${id}`, action: 'execute' }],
    });

    expect((await execute(workflow, { query: id }, cluster.as(without).in(tenant))).body).toMatchObject({
      status: 'FAILED',
      error: { code: 'NODE_FAILED', nodeID: 'ask', message: expect.stringContaining('may not execute it') },
    });
    expect((await execute(workflow, { query: id }, cluster.as(withIt).in(tenant))).body.status).toBe('COMPLETED');
  });

  test('does not run the query when the permission or the membership is lost while the run waits', async () => {
    const { id } = await aDataQuery(cluster, { tenant });
    const graph = chain({
      before: { type: 'delay', delaySeconds: 3 },
      ask: { type: 'dataQuery', dataQueryID: id },
    });
    const workflow = await saved(graph);
    const rule = { object: `workflow:${workflow}`, action: 'execute' };
    const [denied, gone] = [
      await aMember(cluster, { tenant, rules: [rule] }),
      await aMember(cluster, { tenant, rules: [rule] }),
    ];
    const runs = await Promise.all(
      [denied, gone].map((member) => cluster.as(member).in(tenant).post(`T/workflows/${workflow}/execute`, {})),
    );

    const em = tenantEntityManager(cluster.context.orm.em, tenant.id);
    await changeRules(em, tenant.id, { remove: [{ subject: denied.id, object: rule.object }] });
    await cluster.pool.query('delete from membership where user_id = $1', [gone.id]);

    for (const { body } of runs)
      await eventually(async () => {
        const run = (await admin.get(`T/workflows/instances/${body.instanceID}`)).body;
        expect(run).toMatchObject({ status: 'FAILED', error: { code: 'NODE_FAILED', nodeID: 'ask' } });
      });
  });

  test('runs nothing in a workflow that they may not execute', async () => {
    const { id } = await aDataQuery(cluster, { tenant });
    const workflow = await saved(queryGraph(id));
    const member = await aMember(cluster, { tenant, can: ['workflow.read', 'dataquery.execute'] });

    expect((await execute(workflow, {}, cluster.as(member).in(tenant))).status).toBe(403);
  });
});

test('a query of another tenant is not found, by an id or a template', async () => {
  const theirs = await aTenant(cluster);
  const datasource = await aDatasource(cluster, { tenant: theirs });
  const { id } = await aDataQuery(cluster, { tenant: theirs, datasource });
  const workflow = await saved(queryGraph('{{ctx.input.query}}'));

  const answers = [];
  for (const query of [id, newID()]) answers.push((await execute(workflow, { query })).body);

  for (const { status, error } of answers) {
    expect(status).toBe('FAILED');
    expect(error).toMatchObject({ code: 'NOT_FOUND', message: 'Data query not found' });
  }
});
