import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routeGroups } from '#api/app/routes.ts';
import type { Schema } from '#api/http/openapi/types.ts';
import type { MCP } from '#api/mcp/listen.ts';
import { prompts } from '#api/mcp/prompts.ts';
import { readable } from '#api/mcp/readable.ts';
import { toolsets } from '#api/tools/lists.ts';
import { createToolRegistry } from '#api/tools/registry.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import {
  aDataQuery,
  aDatasource,
  aMember,
  aTenant,
  aWorkflow,
  chain,
  type TestTenant,
} from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { connectMCP, startMCPOf } from '#test/support/mcp.ts';
import { dialects } from '#test/support/tool-schemas.ts';

let cluster: Cluster;
let mcp: MCP;
let tenant: TestTenant;

beforeAll(async () => {
  cluster = await startCluster();
  mcp = await startMCPOf(cluster);
  tenant = await aTenant(cluster);
});
afterAll(async () => {
  await mcp[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

async function connect(query = '', user: { email: string } = tenant.creator) {
  const headers = { authorization: `Bearer ${await cluster.tokenFor(user)}` };
  return connectMCP({ mcp, tenantID: tenant.id, headers, query });
}

async function ask(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { content, isError = false, structuredContent } = await client.callTool({ name, arguments: args });
  const [{ text = '' } = {}] = content as { text?: string }[];
  return { text, isError, structuredContent };
}

/** The first page of a list, as a client reads it. */
async function firstPage(query = '', user?: { email: string }) {
  await using client = await connect(query, user);
  const answer = await client.request({ method: 'tools/list' });
  const bytes = Buffer.byteLength(JSON.stringify({ jsonrpc: '2.0', id: 1, result: answer }));
  return {
    ...answer,
    bytes,
    names: answer.tools.map(({ name }) => name),
    instructions: client.getInstructions() ?? '',
  };
}

describe('the list', () => {
  test('has by default at most 24 tools and 20 kB in one page, in the dialect of all clients', async () => {
    const { tools, names, bytes, nextCursor } = await firstPage();

    expect(nextCursor).toBeUndefined();
    expect(names.length).toBeLessThanOrEqual(24);
    expect(bytes).toBeLessThanOrEqual(20_000);
    expect(names).toEqual(
      expect.arrayContaining(['find_assets', 'run_workflow', 'save_page', 'find_tools', 'call_tool']),
    );
    const faults = dialects.flatMap(({ name, faultsOf }) =>
      tools.flatMap((tool) => faultsOf(tool.inputSchema as Schema).map((fault) => `${name}: ${tool.name} ${fault}`)),
    );
    expect(faults).toEqual([]);
  });

  test('is what instructions, prompts and descriptions name, and nothing else', async () => {
    const all = await createToolRegistry(cluster.context, routeGroups);
    const named = (text: string) => (text.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []).filter((name) => all.tools.has(name));
    const whole = await firstPage();
    const others = await Promise.all(['?tools=all', '?tools=grouped', '?tools=runs'].map((query) => firstPage(query)));
    const viewer = await aMember(cluster, { tenant, can: ['workflow.list'] });
    const few = await firstPage('', viewer);

    for (const { instructions, names } of [whole, few, ...others.slice(1)])
      expect(named(instructions).filter((name) => !names.includes(name))).toEqual([]);
    expect(whole.instructions).toContain('find_assets');
    expect(few.instructions).not.toContain('save_workflow');
    const texts = JSON.stringify([whole.tools.map((tool) => [tool.description, tool.inputSchema]), prompts]);
    const stray = named(texts).filter((name) => !whole.names.includes(name));
    expect([...new Set(stray)]).toEqual([]);
  });

  test('is what the address chooses, cut by permissions', async () => {
    const sets = await Promise.all(Object.keys(toolsets).map((name) => firstPage(`?tools=${name}`)));
    expect(sets.map(({ nextCursor, names }) => [nextCursor, names.length > 5 && names.length <= 128])).toEqual(
      sets.map(() => [undefined, true]),
    );
    expect((await firstPage('?tools=runs')).names).toEqual(
      expect.arrayContaining(['list_workflow_batches', 'call_tool']),
    );
    const two = await firstPage('?tools=admin,create_workflow');
    expect(two.names).toEqual(expect.arrayContaining(['list_api_keys', 'create_workflow', 'find_assets']));
    expect(two.names).not.toContain('create_query');
    const refused = await fetch(`http://127.0.0.1:${mcp.port}/tenants/${tenant.id}/mcp?tools=runs,nonsense`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${await cluster.tokenFor(tenant.creator)}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toMatch(/tools: expected .*some of runs, build, .*received \\"nonsense/);

    const viewer = await aMember(cluster, { tenant, can: ['workflow.list', 'workflow.read'] });
    const { names } = await firstPage('', viewer);
    expect(names).toEqual(expect.arrayContaining(['find_assets', 'read_asset', 'list_runs']));
    expect(names.filter((name) => /save|change|run_|test_|describe/.test(name) && name !== 'list_runs')).toEqual([]);
    expect((await firstPage('?tools=build', viewer)).names).not.toContain('create_workflow');
  });
});

test('a model finds an asset, reads it, changes it as a draft, mends what is wrong, publishes and runs it', async () => {
  await using client = await connect();
  const options = { inputDefinitions: [{ key: 'n', type: 'number' as const, required: true }] };
  const flow = chain({ double: { type: 'javascript', code: 'return ctx.input.n * 2;', outputVariable: 'it' } });
  const { id } = await aWorkflow(cluster, { tenant, title: 'Doubles numbers', ...flow, options });

  const found = await ask(client, 'find_assets', { query: 'doubles' });
  expect(found.text).toContain(id);
  expect(found).toMatchObject({ structuredContent: undefined, text: expect.stringContaining('Next: read_asset') });
  const read = await ask(client, 'read_asset', { type: 'workflow', id });
  expect(read.text).toContain('return ctx.input.n * 2;');
  expect(read.text).not.toContain(tenant.creator.id);
  expect((await ask(client, 'get_form', { of: 'step', type: 'javascript' })).text).toContain('"code"');

  const { nodes, edges } = flow;
  const wrong = [...nodes, { id: 'odd', type: 'no such type', data: {} }];
  const refused = await ask(client, 'save_workflow', { workflowID: id, nodes: wrong, edges, options, publish: true });
  expect(refused.text).toMatch(/odd.*no such type|no such type.*odd/s);
  expect(refused.text).toContain('It was not published');
  expect(refused.text).toContain('nodes.3.type');
  expect(refused.text).not.toContain('workflowNodes');
  const saved = await ask(client, 'save_workflow', { workflowID: id, nodes, edges, options, publish: true });
  expect(saved.text).toContain('saved: and published');

  const without = await ask(client, 'run_workflow', { workflowID: id, args: {} });
  expect(without).toMatchObject({ isError: true, text: expect.stringContaining('args.n: is required') });
  expect(JSON.parse(without.text)).toMatchObject({ next: expect.stringContaining('Change what the message names') });
  const ran = await ask(client, 'run_workflow', { workflowID: id, args: { n: 21 } });
  expect(ran.text).toContain('status: COMPLETED');
});

test('a failed run is found, explained by its step and error, and repeated', async () => {
  await using client = await connect();
  const flow = chain({
    broken: { type: 'javascript', code: 'throw new Error("no luck today");', outputVariable: 'it' },
  });
  const { id: workflowID } = await aWorkflow(cluster, { tenant, title: 'Breaks', ...flow });
  const ran = await ask(client, 'run_workflow', { workflowID });
  expect(ran.text).toContain('status: FAILED');
  const [, instanceID = ''] = /get_run \{"instanceID":"([\w-]+)"\}/.exec(ran.text) ?? [];

  const failures = await ask(client, 'list_failures');
  expect(failures.text).toMatch(/Breaks.*NODE_FAILED|NODE_FAILED.*Breaks/);
  const explained = await ask(client, 'get_run', { instanceID });
  expect(explained.text).toContain('no luck today');
  expect(explained.text).toMatch(/failedStep:\n {2}nodeID: broken/);
  expect(explained.text).toContain('Next: ');
  expect((await ask(client, 'rerun_run', { instanceID, from: 'start' })).text).toContain('status: FAILED');
  expect((await ask(client, 'list_runs', { workflowID, limit: 1 })).text).toMatch(
    /1 rows, and there are more: list_runs \{.*"cursor":/,
  );
});

test('the step that ended a long run is found among large outputs, with the end of its log', async () => {
  await using client = await connect();
  // 110 outputs are more than one answer may have.
  const step = { type: 'javascript', code: 'return Array.from({ length: 1000 }, Math.random);', outputVariable: 'it' };
  const steps = Object.fromEntries(Array.from({ length: 110 }, (_, index) => [`step${index}`, step]));
  const broken = { type: 'javascript', code: 'throw new Error("no luck at the end");', outputVariable: 'it' };
  const { id: workflowID } = await aWorkflow(cluster, { tenant, ...chain({ ...steps, broken }) });
  const ran = await ask(client, 'run_workflow', { workflowID, wait: 50 });
  const [, instanceID = ''] = /get_run \{"instanceID":"([\w-]+)"\}/.exec(ran.text) ?? [];

  const { text } = await ask(client, 'get_run', { instanceID });
  expect(text).toMatch(/failedStep:\n {2}nodeID: broken/);
  expect(text).toContain('failedStepSettings');
  const log = text.slice(text.indexOf('\nlog '));
  expect(log).toContain('Node failed: Error: no luck at the end');
  expect(log).not.toContain('step1 |');
  expect(log).toContain('moreLog: call_tool with get_workflow_instance_logs');
});

test('failures of parts that the caller may not see are not said to be none', async () => {
  const member = await aMember(cluster, { tenant, can: ['workflow.list', 'workflow.read'] });
  await using client = await connect('', member);
  const { text } = await ask(client, 'list_failures');
  expect(text).toContain('notShown: The caller may not see deadLetters, stoppedCronJobs, stoppedListeners');
  expect(text).not.toContain('deadLetters: none');
  await using creators = await connect();
  expect((await ask(creators, 'list_failures')).text).toContain('deadLetters: none');
});

test('a run that waits is answered with its id and the call that follows it', async () => {
  await using client = await connect();
  const hour = graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 60 } }, ['start>wait']);
  const { id: workflowID } = await aWorkflow(cluster, { tenant, ...hour });
  const { text } = await ask(client, 'run_workflow', { workflowID, wait: 0.2 });
  const [, instanceID = ''] = /Next: .*get_run \{"instanceID":"([\w-]+)"\}/.exec(text) ?? [];
  expect((await ask(client, 'get_run', { instanceID })).text).toMatch(/status: (WAITING|RUNNING|PENDING)/);
  expect((await ask(client, 'stop_workflow_instance', { instanceID })).isError).toBe(false);
  const stopped = await ask(client, 'get_run', { instanceID });
  expect(stopped.text).toContain('status: CANCELLED');
  expect(stopped.text).not.toContain('goes on');
});

test('tables are described, and rows added, changed and deleted', async () => {
  await using client = await connect();
  await ask(client, 'call_tool', {
    name: 'execute_raw_sql',
    arguments: { sql: 'create table orders (id int primary key, title text)' },
  });
  const table = { databaseSchemaName: 'public', databaseTableName: 'orders' };
  expect((await ask(client, 'describe_tables')).text).toMatch(/orders \|.*id int\w* not null, title text/);
  const rows = Array.from({ length: 30 }, (_, index) => ({ id: index, title: `Order ${index}` }));
  expect(await ask(client, 'change_rows', { ...table, change: 'add', rows })).toMatchObject({ isError: false });
  await ask(client, 'change_rows', { ...table, change: 'update', rows: [{ id: 1, title: 'Changed' }] });
  await ask(client, 'change_rows', { ...table, change: 'delete', where: { id: { '=': 2 } }, single: true });
  const listed = await ask(client, 'list_rows', { ...table, order: 'id' });
  expect(listed.text).toContain('1 | Changed');
  expect(listed.text).not.toContain('Order 2 ');
  expect(listed.text).toMatch(/20 rows, and there are more: list_rows \{.*"page":2/);
  expect(await ask(client, 'change_rows', { ...table, change: 'delete' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('where: expected an object'),
  });
});

test('a query and a page are stored by their whole definition, and faults name the field', async () => {
  await using client = await connect();
  const { id: datasourceID } = await aDatasource(cluster, { tenant });
  const made = await ask(client, 'save_query', { title: 'One', datasourceID, options: { query: 'select 1 as one' } });
  const [, dataQueryID = ''] = /dataQueryID: (\S+)/.exec(made.text) ?? [];
  const tried = await ask(client, 'try_query', { datasourceID, options: { query: 'select 2 as two' } });
  expect(tried.text).toMatch(/two\n2/);
  await ask(client, 'save_query', { dataQueryID, options: { query: 'select 2 as two' } });
  expect((await ask(client, 'run_query', { dataQueryID })).text).toMatch(/two\n2/);
  const page = await ask(client, 'save_page', {
    title: 'Orders',
    config: { layoutVersion: 2, layout: {}, widgets: [] },
  });
  expect(page.text).toContain('isDraft: true');
  const wrong = await ask(client, 'save_page', { title: 'Odd', config: { widgets: 'all' } });
  expect(wrong).toMatchObject({ isError: true, text: expect.stringContaining('"config.widgets: expected') });
  const misspelt = await ask(client, 'save_query', { name: 'One', options: {} });
  expect(misspelt).toMatchObject({
    isError: true,
    text: expect.stringContaining('name: expected one of dataQueryID, title'),
  });
});

test('a long answer is cut, and says how it is read on', async () => {
  await using client = await connect();
  const { id } = await aDataQuery(cluster, { tenant, query: `select 'a${'b'.repeat(40_000)}c'` });
  const first = await ask(client, 'read_asset', { type: 'query', id });
  expect(first.text.length).toBeLessThan(17_000);
  const [, args = '{}'] = /Read on with read_asset (\{.*\})\]/.exec(first.text) ?? [];
  const second = await ask(client, 'read_asset', JSON.parse(args));
  expect(second.text).toContain('Read on with read_asset');
  expect((await ask(client, 'read_asset', { ...JSON.parse(args), offset: 32_000 })).text).toContain('bc');
  const many = await ask(client, 'try_query', {
    options: { query: 'select n, repeat(n::text, 5) as text from generate_series(1, 3000) n' },
  });
  expect(many.text).toMatch(/\[Cut after character \d+\. Ask for less/);
  expect(many.text).not.toContain('and there are more');
  const called = await ask(client, 'call_tool', { name: 'get_query', arguments: { dataQueryID: id } });
  expect(called.text).toMatch(/Read on with call_tool \{"name":"get_query".*"offset":16000\}/);
});

test('a long line is not cut within a character', () => {
  const shown = { name: 'read_asset', args: {}, fields: [], isRepeatable: true, isCalledByName: false };
  const texts = ['', 'x'].map((begin) => readable({ it: begin + '😀'.repeat(9_000) }, shown));
  expect(texts.map((text) => text.includes('\ufffd'))).toEqual([false, false]);
});

test('assets that are found say that there may be more of a type', async () => {
  await using client = await connect();
  for (const n of [1, 2]) await aWorkflow(cluster, { tenant, title: `Invoice ${n}` });
  const more = '1 of a type are shown, and there may be more';
  expect((await ask(client, 'find_assets', { query: 'invoice', limit: 1 })).text).toContain(more);
  expect((await ask(client, 'find_assets', { query: 'invoice' })).text).not.toContain('there may be more');
});

test.each([
  ['questions of runs that wait for a person', 'list_collection_requests'],
  ['approve or reject a request', 'submit_collection_request'],
  ['audit trail of who changed what', 'list_audit_logs'],
  ['publishing a draft', 'publish_workflow_version'],
  ['schedules of cron jobs', 'list_cron_jobs'],
  ['invite a user', 'add_tenant_user'],
  ['resend dead letters', 'redrive_listener_event'],
  ['revoke an API key', 'delete_api_key'],
])('"%s" finds %s', async (query, name) => {
  await using client = await connect();
  expect((await ask(client, 'find_tools', { query })).text.match(/^[a-z_]+(?=: )/gm)).toContain(name);
});

test('other tools are found by words and called, and the documentation answers', async () => {
  await using client = await connect();
  const found = await ask(client, 'find_tools', { query: 'dead letter redrive', limit: 2 });
  expect(found.text).toContain('redrive_listener_event');
  expect(found.text).toMatch(/2 of \d+ tools that match/);
  const folders = { name: 'list_folders', arguments: { entityType: 'workflow' } };
  expect(await ask(client, 'call_tool', folders)).toMatchObject({ isError: false, structuredContent: undefined });
  const docs = await ask(client, 'search_docs', { query: 'dead letters of listeners' });
  expect(docs.text).toMatch(/\[guide listeners\]\n#+ .*dead letter/is);
  expect((await ask(client, 'read_asset', { type: 'guide', id: 'listeners' })).text).toContain('# ');
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toContain('gantry://guides/listeners');
  const { contents } = await client.readResource({ uri: 'gantry://guides/listeners' });
  expect(contents).toMatchObject([{ mimeType: 'text/markdown', text: expect.stringContaining('# ') }]);
  await expect(client.readResource({ uri: 'gantry://guides/no-such-guide' })).rejects.toThrow(/no guide/);
});
