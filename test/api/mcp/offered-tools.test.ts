/** Workflows and queries that are offered as tools of their own. */
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Client } from '@modelcontextprotocol/client';
import type { Response } from 'express';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { announceOffered, OFFERED_TOOLS } from '#api/assets/offered-tools.ts';
import type { MCP } from '#api/mcp/listen.ts';
import { createToolEvents } from '#api/mcp/tool-events.ts';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { inEntityTransaction } from '#shared/db/query.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aDataQuery, aMember, aTenant, aWorkflow, chain, type TestTenant } from '#test/support/factories.ts';
import { connectMCP, startMCPOf } from '#test/support/mcp.ts';
import { eventually } from '#test/support/settle.ts';

let cluster: Cluster;
let mcp: MCP;
let tenant: TestTenant;

beforeAll(async () => {
  cluster = await startCluster();
  mcp = await startMCPOf(cluster);
});
beforeEach(async () => {
  tenant = await aTenant(cluster);
});
afterAll(async () => {
  await mcp[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

function api() {
  return cluster.as(tenant.creator).in(tenant);
}

interface Connecting {
  query?: string;
  user?: { email: string };
  onTools?: (names: string[]) => void;
}

async function connect({ query = '', user = tenant.creator, onTools }: Connecting = {}) {
  const tools = {
    onChanged: (_error: unknown, list: { name: string }[] | null) => onTools?.((list ?? []).map(({ name }) => name)),
  };
  const headers = { authorization: `Bearer ${await cluster.tokenFor(user)}` };
  const options = onTools && { listChanged: { tools } };
  return connectMCP({ mcp, tenantID: tenant.id, headers, query, ...(options && { options }) });
}

async function textOf(client: Client, name: string, args: Record<string, unknown>): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args });
  return String((content as { text?: string }[])[0]?.text);
}

/** A workflow that answers with its input `amount`, by the name `paid`. */
async function aRefund(title = 'Refund an order') {
  const end = [{ name: 'paid', sourceVariable: '{{ctx.input.amount}}' }];
  const flow = chain({}, {});
  const nodes = flow.nodes.map((node) => (node.type === 'end' ? { ...node, data: { outputParameters: end } } : node));
  const inputDefinitions = [
    { key: 'amount', type: 'number' as const, required: true, description: 'In euros' },
    { key: 'the reason', type: 'choice' as const, required: false, options: ['broken', 'late'] },
  ];
  return aWorkflow(cluster, { tenant, title, nodes, edges: flow.edges, options: { inputDefinitions } });
}

test('a workflow is a tool by its title and inputs once it is offered, and runs', async () => {
  const { id } = await aRefund();
  await using client = await connect();
  const before = (await client.listTools()).tools.map(({ name }) => name);
  expect(before).not.toContain('refund_an_order');

  const changed = await api().patch(`T/workflows/${id}`, {
    isOfferedAsTool: true,
    workflowDescription: 'Pays the money back',
  });
  expect(changed.body).toMatchObject({ workflow: { isOfferedAsTool: true } });
  const { tools } = await client.listTools();
  expect(tools.find(({ name }) => name === 'refund_an_order')).toMatchObject({
    title: 'Refund an order',
    description: 'Runs the workflow “Refund an order”. Pays the money back',
    inputSchema: {
      type: 'object',
      properties: {
        amount: { type: 'number', description: 'In euros' },
        the_reason: { type: 'string', enum: ['broken', 'late'] },
      },
      required: ['amount'],
    },
  });
  const done = await textOf(client, 'refund_an_order', { amount: 12, the_reason: 'late' });
  expect(done).toMatch(/status: COMPLETED\noutput:\n {2}paid: 12/);
  expect(await textOf(client, 'refund_an_order', {})).toContain('args.amount: is required');

  await api().patch(`T/workflows/${id}`, { isDisabled: true });
  await expect(textOf(client, 'refund_an_order', { amount: 1 })).rejects.toThrow(/There is no tool/);
});

test('a query is a tool too, names stay apart, and each caller gets what they may execute', async () => {
  const { id: workflowID } = await aRefund('Open orders');
  const { id: queryID } = await aDataQuery(cluster, {
    tenant,
    title: 'Open orders',
    query: {
      query: 'select {{inputs.n}}::int as n',
      inputDefinitions: [{ key: 'n', type: 'integer', required: true }],
    },
  });
  const { id: odd } = await aRefund('注文');
  const { id: taken } = await aRefund('Get overview');
  for (const id of [workflowID, odd, taken]) await api().patch(`T/workflows/${id}`, { isOfferedAsTool: true });
  await api().patch(`T/queries/${queryID}`, { isOfferedAsTool: true });
  await using client = await connect({ query: '?tools=offered' });
  const names = (await client.listTools()).tools.map(({ name }) => name);

  const ofQuery = `open_orders_${queryID.slice(-6)}`;
  expect(names).toEqual(
    expect.arrayContaining([
      'open_orders',
      ofQuery,
      `run_workflow_${odd.slice(-6)}`,
      `get_overview_${taken.slice(-6)}`,
    ]),
  );
  expect(await textOf(client, ofQuery, { n: 7 })).toMatch(/\nn\n7\n/);

  const member = await aMember(cluster, {
    tenant,
    can: ['workflow.list'],
    rules: [{ object: `dataquery:${queryID}`, action: 'execute' }],
  });
  await using theirs = await connect({ user: member });
  const theirNames = (await theirs.listTools()).tools.map(({ name }) => name);
  expect(theirNames).toContain(ofQuery);
  expect(theirNames).not.toContain('open_orders');
  await expect(textOf(theirs, 'open_orders', { amount: 1 })).rejects.toThrow(/There is no tool/);
});

test('a client that listens is told when the list of its tenant has changed, and not of another', async () => {
  const { id } = await aRefund();
  const heard: string[][] = [];
  const elsewhere: string[] = [];
  const here = tenant;
  await using client = await connect({ onTools: (names) => void heard.push(names) });
  tenant = await aTenant(cluster);
  await using other = await connect({ onTools: () => void elsewhere.push('changed') });
  expect((await other.listTools()).tools.length).toBeGreaterThan(10);
  tenant = here;
  await api().patch(`T/workflows/${id}`, { isOfferedAsTool: true });
  await eventually(() => expect(heard.at(-1)).toContain('refund_an_order'));
  await api().patch(`T/workflows/${id}`, { isOfferedAsTool: false });
  await eventually(() => expect(heard.at(-1)).not.toContain('refund_an_order'));
  expect(elsewhere).toEqual([]);
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('refund_an_order');
});

test('a change is told after its commit, and not at all if it is rolled back', async () => {
  const { messages } = cluster.context.messaging.backplane;
  const heard: unknown[] = [];
  const end = messages.subscribe(OFFERED_TOOLS, (tenantID) => void heard.push(tenantID));
  const announce = () => announceOffered(cluster.context, { em, tenantID: tenant.id, isOffered: true });
  const em = tenantEntityManager(cluster.context.orm.em, tenant.id);
  const failing = inEntityTransaction(em, async () => {
    announce();
    throw new Error('rolled back');
  });
  await expect(failing).rejects.toThrow('rolled back');
  await inEntityTransaction(em, async () => {
    announce();
    await messages.publish(OFFERED_TOOLS, 'before the commit');
    await eventually(() => expect(heard).toContain('before the commit'));
    expect(heard).not.toContain(tenant.id);
  });
  await eventually(() => expect(heard.filter((tenantID) => tenantID === tenant.id)).toHaveLength(1));
  end();
});

test('queries that are created together are told of', async () => {
  const heard: string[][] = [];
  await using client = await connect({ onTools: (names) => void heard.push(names) });
  expect((await client.listTools()).tools.length).toBeGreaterThan(10);
  const one = { dataQueryOptions: { query: 'select 1' }, isOfferedAsTool: true };
  const titles = ['Count orders', 'Count refunds'];
  const made = await api().post(
    'T/queries/bulk',
    titles.map((dataQueryTitle) => ({ dataQueryTitle, ...one })),
  );
  expect(made.status).toBe(201);
  await eventually(() => expect(heard.at(-1)).toEqual(expect.arrayContaining(['count_orders', 'count_refunds'])));
});

test('streams are counted by tenant and user, and not after their client has gone', async () => {
  using events = createToolEvents(cluster.context.messaging.backplane.messages);
  const open = (userID: string, response = aResponse()) =>
    events.serve(
      { tenantID: tenant.id, userID },
      { body: { method: 'subscriptions/listen' }, response },
      async () => undefined,
    );
  for (let n = 0; n < 60; n += 1) await open('gone', aResponse().destroy());
  for (let n = 0; n < 20; n += 1) await open('one');
  await expect(open('one')).rejects.toThrow('a user has at most 20 streams');
  for (let n = 0; n < 20; n += 1) await open('another');
  for (let n = 0; n < 10; n += 1) await open('gone');
  await expect(open('third')).rejects.toThrow('a tenant has at most 50 streams');
});

function aResponse() {
  return new ServerResponse(new IncomingMessage(new Socket())) as Response;
}

test('a call of an offered workflow waits for an approval where the tenant wants one', async () => {
  const { id } = await aRefund();
  await api().patch(`T/workflows/${id}`, { isOfferedAsTool: true });
  await api().put('T/tool-approval-policy', { policy: 'changes' });
  await using client = await connect();
  expect(await textOf(client, 'refund_an_order', { amount: 5 })).toContain('"status":"asked"');
});
