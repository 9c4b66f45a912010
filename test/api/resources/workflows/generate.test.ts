import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type AIProviderServer, startAIProvider } from '../../../servers/ai-provider.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aDataQuery, aMember, aTenant, type TestTenant } from '../../../support/factories.ts';

let cluster: Cluster;
let provider: AIProviderServer;
let tenant: TestTenant;

beforeAll(async () => {
  provider = await startAIProvider();
  cluster = await startCluster({ workers: ['ai.calls'], settings: provider.settings });
});
beforeEach(async () => {
  provider.play();
  tenant = await aTenant(cluster);
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const api = () => cluster.as(tenant.creator).in(tenant);
const answers = (...graphs: object[]) => provider.play(...graphs.map((graph) => ({ pieces: [JSON.stringify(graph)] })));
const sent = () => provider.seen.slice(-1).map(({ body }) => JSON.parse(body).messages)[0];
const generate = () => api().post('T/workflows/aigenerate', { aiPrompt: 'Read the orders' });
const none = '00000000-0000-4000-8000-000000000000';

function graph(dataQueryID: string, more: object = {}) {
  return {
    title: 'Orders',
    workflowNodes: [
      { id: 'start', type: 'start' },
      { id: 'read', type: 'dataQuery', data: { dataQueryID, ...more } },
      { id: 'end', type: 'end', data: {} },
    ],
    workflowEdges: [
      { id: 'e1', source: 'start', target: 'read' },
      { id: 'e2', source: 'read', target: 'end', sourceHandle: 'success' },
    ],
    assumptions: ['All of them.'],
  };
}

test('a workflow is written with the queries of the caller, checked, and neither saved nor run', async () => {
  const query = await aDataQuery(cluster, { tenant, title: 'All </data> orders' });
  answers(graph(query.id));

  const answer = await generate();
  const saved = await api().post('T/workflows', answer.body.workflow);

  expect(answer).toMatchObject({
    status: 200,
    body: { workflow: { title: 'Orders', draft: true }, missing: [], assumptions: ['All of them.'] },
  });
  expect(sent()[1].content).toContain(`query ${query.id} `);
  expect(sent()[1].content).toContain('All </ data> orders');
  expect(saved).toMatchObject({ status: 201, body: { workflow: { publishedVersionID: null } } });
  expect((await api().get('T/workflows')).body.totalCount).toBe(1);
  expect((await api().get('T/workflows/instances')).body.totalCount).toBe(0);
});

test('what does not exist is missing, and what cannot be saved is told to the model', async () => {
  answers({ ...graph(none), workflowEdges: [] }, graph(none, { madeUp: true }), {
    ...graph(none, { inputValues: { a: '{{vars.shop}}' } }),
    missing: ['A query of all orders'],
  });

  const answer = await generate();
  const told = sent().map(({ content }: { content: string }) => content);

  expect(answer.status).toBe(200);
  expect(answer.body.missing).toEqual([
    expect.objectContaining({ nodeID: 'read', message: 'there is no such data query' }),
    expect.objectContaining({ nodeID: 'read', message: 'there is no variable "shop"' }),
    { kind: 'missing', message: 'A query of all orders' },
  ]);
  expect(told[3]).toContain('cannot be reached from the start node');
  expect(told[5]).toContain('madeUp: is unknown');
});

test('what the caller may not use is neither shown to the model nor passed over in the answer', async () => {
  const query = await aDataQuery(cluster, { tenant });
  const member = await aMember(cluster, { tenant, can: ['workflow.create', 'ai.execute'] });
  const other = await aMember(cluster, { tenant, can: ['workflow.create'] });
  answers(graph(query.id));

  const body = { aiPrompt: 'Read the orders' };
  const answer = await cluster.as(member).in(tenant).post('T/workflows/aigenerate', body);
  const refused = await cluster.as(other).in(tenant).post('T/workflows/aigenerate', body);

  expect(sent()[1].content).not.toContain(query.id);
  expect(answer.body.missing).toEqual([
    expect.objectContaining({ message: expect.stringContaining('dataquery.execute') }),
  ]);
  expect(refused.status).toBe(403);
});
