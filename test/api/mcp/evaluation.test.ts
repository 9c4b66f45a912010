import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MCP } from '#api/mcp/listen.ts';
import { drive } from '#ops/eval/drive.ts';
import { modelAgent } from '#ops/eval/model-agent.ts';
import type { Task } from '#ops/eval/task.ts';
import { tasks } from '#ops/eval/tasks/index.ts';
import { startAIProvider } from '#test/servers/ai-provider.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aUser } from '#test/support/factories.ts';
import { connectMCP, startMCPOf } from '#test/support/mcp.ts';
import { openModel } from '#workers/ai/open-model.ts';

let cluster: Cluster;
let mcp: MCP;
beforeAll(async () => {
  cluster = await startCluster();
  mcp = await startMCPOf(cluster);
});
afterAll(async () => {
  await mcp[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

test('there are at least twenty tasks, whose prompts name no id', () => {
  expect(tasks.length).toBeGreaterThanOrEqual(20);
  expect(new Set(tasks.map(({ name }) => name)).size).toBe(tasks.length);
  expect(tasks.filter(({ prompt }) => /[0-9a-f]{8}-/.test(prompt))).toEqual([]);
});

/** A task in a tenant of its own, with the service as a client reaches it. */
async function prepare(task: Task) {
  const owner = await aUser(cluster);
  const gantry = cluster.gantryOf(owner);
  const { tenant } = await gantry.call('createTenant', { body: { tenantTitle: 'Shop' } });
  const workspace = { gantry, path: { tenantID: tenant.id } };
  const headers = { authorization: `Bearer ${await cluster.tokenFor(owner)}` };
  const client = await connectMCP({ mcp, tenantID: tenant.id, headers });
  const url = `http://127.0.0.1:${mcp.port}/tenants/${tenant.id}/mcp`;
  return { workspace, prepared: await task.prepare(workspace), client, service: { url, headers } };
}

test.each(tasks)('$name', async (task) => {
  const { prepared, client } = await prepare(task);
  await using _ = client;
  await expect(prepared.check('It is done.'), 'the check of a task that is not done').rejects.toThrow();
  expect(await drive(task, prepared, client)).toEqual({
    ...{ task: task.name, calls: expect.any(Number), bytes: expect.any(Number) },
  });
});

test('a model does a task with the tools as the client of the AI SDK reads them', async () => {
  const task = tasks.find(({ name }) => name === 'run-with-inputs') as Task;
  const { workspace, prepared, client, service } = await prepare(task);
  await using _ = client;
  await using provider = await startAIProvider();
  const { workflows } = await workspace.gantry.call('listWorkflows', { path: workspace.path });
  const run = { workflowID: workflows[0]?.id, args: { month: '2026-10' } };
  provider.play(
    { calls: [{ name: 'find_assets', arguments: { query: 'close' } }] },
    { calls: [{ name: 'run_workflow', arguments: { ...run, args: {} } }] },
    { calls: [{ name: 'run_workflow', arguments: run }] },
    { pieces: ['The result is: closed 2026-10'] },
  );
  const settings = { provider: 'openai-compatible', model: 'test-model', baseURL: provider.baseURL } as const;
  const model = await openModel(settings as Parameters<typeof openModel>[0], fetch as Parameters<typeof openModel>[1]);

  const { calls, failure } = await drive(task, prepared, client, modelAgent(model, service));

  expect(failure).toBeUndefined();
  expect(calls).toBe(3);
  const [first, , third, last] = provider.seen.map(({ body }) => JSON.parse(body));
  expect(first.tools.length).toBeGreaterThan(20);
  expect(JSON.stringify(first.messages)).toContain('find_assets');
  expect(JSON.stringify(third.messages)).toContain('args.month: is required');
  expect(JSON.stringify(last.messages)).toContain('status: COMPLETED');
});
