import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aDataQuery, aMember, aTenant, aWorkflow, chain, type TestTenant } from '../../../support/factories.ts';
import { code, graph } from '../../../support/graphs.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: true });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);

async function count(table: string): Promise<number> {
  const { rows } = await cluster.pool.query<{ n: number }>(`select count(*)::int as n from ${table}`);
  return rows[0]?.n ?? 0;
}

test('a plan says what a run would do, and leaves nothing behind', async () => {
  const { id } = await aWorkflow(cluster, {
    tenant,
    ...chain({ call: { type: 'http', url: 'http://example.test/{{ctx.input.id}}' } }),
  });
  const before = [await count('workflow_instance'), await count('workflow_version')];

  const { status, body } = await api().post(`T/workflows/${id}/plan`, { args: { id: 7 } });

  expect(status).toBe(200);
  expect(body).toMatchObject({ success: true, problems: [] });
  expect(body.nodes).toContainEqual(
    expect.objectContaining({
      nodeID: 'call',
      isReached: 'yes',
      exit: 'success',
      values: [{ path: 'url', value: 'http://example.test/7' }],
    }),
  );
  expect(body.edges.map(({ isTaken }: { isTaken: string }) => isTaken)).toEqual(['yes', 'yes']);
  expect([await count('workflow_instance'), await count('workflow_version')]).toEqual(before);
});

test('it names sub-workflows that could not be started', async () => {
  const [off, fine] = await Promise.all([aWorkflow(cluster, { tenant }), aWorkflow(cluster, { tenant })]);
  const draft = await api().post('T/workflows', { title: 'Draft', draft: true });
  await api().patch(`T/workflows/${off.id}`, { isDisabled: true });
  const call = (childWorkflowID: string) => ({ type: 'subWorkflow', childWorkflowID });
  const shape = chain({ off: call(off.id), draft: call(draft.body.workflow.id), fine: call(fine.id) });
  const { id } = await aWorkflow(cluster, { tenant, ...shape });

  const { body } = await api().post(`T/workflows/${id}/plan`, {});

  const location = { kind: 'workflow', path: 'childWorkflowID' };
  expect(body.problems).toEqual([
    { ...location, nodeID: 'off', message: 'the workflow is disabled' },
    { ...location, nodeID: 'draft', message: 'the workflow has drafts only' },
  ]);
});

test('it names inputs, variables, queries and datasources with which the run could not go on', async () => {
  const { id: query } = await aDataQuery(cluster, { tenant });
  const { id: removed } = await aDataQuery(cluster, { tenant });
  const author = await aMember(cluster, {
    tenant,
    can: ['workflow.create', 'dataquery.execute', 'variable.use'],
  });
  const shape = chain({
    known: { type: 'dataQuery', dataQueryID: query },
    unknown: { type: 'dataQuery', dataQueryID: removed },
    call: { type: 'http', url: 'http://example.test/{{vars.shop}}' },
  });
  const options = { inputDefinitions: [{ key: 'n', type: 'number', required: true }] };
  const { body: created } = await cluster
    .as(author)
    .in(tenant)
    .post('T/workflows', { title: 'Planned', ...shape, workflowOptions: options });
  await cluster.pool.query('delete from data_query where id = $1', [removed]);

  const { body } = await api().post(`T/workflows/${created.workflow.id}/plan`, { args: { n: 'many' } });

  expect(body.problems).toEqual([
    { kind: 'input', path: 'args.n', message: expect.stringContaining('a number') },
    { kind: 'missing', nodeID: 'unknown', path: expect.any(String), message: 'there is no such data query' },
    { kind: 'variable', nodeID: 'call', path: 'url', message: 'there is no variable "shop"' },
    {
      kind: 'query',
      nodeID: 'known',
      path: 'dataQueryID',
      message: 'the author of the version may not use the datasource of the query',
    },
  ]);
  expect(body.nodes).toHaveLength(5);
});

test('a draft is planned by its number, and one that is not whole has its faults', async () => {
  const { body } = await api().post('T/workflows', { title: 'Planned', ...chain() });
  const { id } = body.workflow;
  const broken = graph({ start: { type: 'start' }, bad: code('return (;') }, ['start>bad']);
  await api().patch(`T/workflows/${id}`, { ...broken, draft: true });

  const published = await api().post(`T/workflows/${id}/plan`);
  const draft = await api().post(`T/workflows/${id}/plan?version=2`);
  const none = await api().post(`T/workflows/${id}/plan?version=3`);

  expect(published.body).toMatchObject({ versionNumber: 1, problems: [] });
  expect(draft.body).toMatchObject({
    versionNumber: 2,
    problems: [{ kind: 'graph', nodeID: 'bad', path: expect.stringMatching(/code$/) }],
    nodes: [],
  });
  expect([none.status, (await api().post(`T/workflows/${newID()}/plan`)).status]).toEqual([404, 404]);
});

test('it needs the permissions to execute and to read the workflow', async () => {
  const { id } = await aWorkflow(cluster, { tenant });
  const may = async (...can: ('workflow.execute' | 'workflow.read')[]) => {
    const member = await aMember(cluster, { tenant, can });
    return (await cluster.as(member).in(tenant).post(`T/workflows/${id}/plan`)).status;
  };

  expect(await may('workflow.execute')).toBe(403);
  expect(await may('workflow.read')).toBe(403);
  expect(await may('workflow.execute', 'workflow.read')).toBe(200);
});
