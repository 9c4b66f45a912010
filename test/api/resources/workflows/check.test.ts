import { afterAll, beforeAll, expect, test } from 'vitest';
import { permissionProblems } from '#api/resources/workflows/plan/problems.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, aWorkflow, type TestTenant } from '../../../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: [] });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

const start = { id: 'start', type: 'start', data: {} };
const end = { id: 'end', type: 'end', data: {} };
const edge = (source: string, target: string) => ({ id: `${source}-${target}`, source, target });
const check = async (body: object, as = tenant.creator) =>
  cluster
    .as(as)
    .in(tenant)
    .post('T/workflows/check', { workflowNodes: [start], workflowEdges: [], ...body });

test('a graph is checked as when it is published, with what it names that is not there, and nothing is stored', async () => {
  const call = { id: 'call', type: 'http', data: { method: 'GET' } };
  const query = { id: 'rows', type: 'dataQuery', data: { dataQueryID: newID() } };
  const log = { id: 'log', type: 'log', data: { message: '{{vars.missing}}' } };
  const sound = await check({ workflowNodes: [start, end], workflowEdges: [edge('start', 'end')] });
  const faulty = await check({ workflowNodes: [start, call], workflowEdges: [edge('start', 'call')] });
  const lacking = await check({
    workflowNodes: [start, query, log],
    workflowEdges: [edge('start', 'rows'), edge('rows', 'log')],
    workflowOptions: { onFailure: { workflowID: newID() } },
  });
  const { rowCount } = await cluster.pool.query('select from workflow_version where tenant_id = $1', [tenant.id]);

  expect([sound.status, sound.body.problems]).toEqual([200, []]);
  expect(faulty.body.problems).toMatchObject([{ kind: 'graph', nodeID: 'call', path: 'workflowNodes.1.data.url' }]);
  expect(lacking.body.problems.map(({ message }: { message: string }) => message)).toEqual([
    'there is no such data query',
    'there is no variable "missing"',
    'there is no such workflow',
  ]);
  expect(rowCount).toBe(0);
});

test('the caller may save the graph, and is told what else that needs', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const author = await aMember(cluster, { tenant, can: ['workflow.update'] });
  const reader = await aMember(cluster, { tenant, can: ['workflow.read'] });
  const log = { id: 'log', type: 'log', data: { message: '{{vars.rate}}' } };
  const graph = { workflowID: workflow.id, workflowNodes: [start, log], workflowEdges: [edge('start', 'log')] };
  await cluster.as(tenant.creator).in(tenant).post('T/variables', { name: 'rate', value: '1' });

  const { body } = await check(graph, author);

  expect(body.problems).toMatchObject([{ kind: 'missing', message: expect.stringContaining('variable.use') }]);
  expect((await check(graph, reader)).status).toBe(403);
  expect((await check({ ...graph, workflowID: null }, author)).status).toBe(403);
  expect((await check({ ...graph, workflowID: newID() })).status).toBe(404);
});

test('a permission that could not be read is not told as one that the caller lacks', async () => {
  const needed = [{ permission: 'variable.use', object: 'variable:*' }] as const;
  const failing = (code: 'PERMISSION_DENIED' | 'UNAVAILABLE') =>
    permissionProblems(needed, { require: () => Promise.reject(new AppError(code, 'No')) });

  expect(await failing('PERMISSION_DENIED')).toHaveLength(1);
  await expect(failing('UNAVAILABLE')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
