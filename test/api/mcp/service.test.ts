import { request } from 'node:http';
import { connect as connectTCP } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MCP } from '#api/mcp/listen.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { tenantServer } from '#test/support/database.ts';
import { aMember, anApiKey, aTenant, aWorkflow, chain, type TestTenant } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { startMCPOf } from '#test/support/mcp.ts';
import { eventually } from '#test/support/settle.ts';

let cluster: Cluster;
let mcp: MCP;
let other: MCP;
let tenant: TestTenant;

beforeAll(async () => {
  cluster = await startCluster();
  [mcp, other] = await Promise.all([startService(), startService()]);
  tenant = await aTenant(cluster);
});
afterAll(async () => {
  await Promise.all([mcp, other].map((service) => service[Symbol.asyncDispose]()));
  await cluster[Symbol.asyncDispose]();
});

function startService(): Promise<MCP> {
  return startMCPOf(cluster);
}

const current = '2026-07-28';
const before = '2025-11-25';

interface Connecting {
  headers: Record<string, string>;
  tenantID?: string;
  version?: string;
  query?: string;
  fetch?: typeof fetch;
}

async function connect({ headers, tenantID = tenant.id, version = current, query = '', fetch }: Connecting) {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: version === current ? { pin: current } : 'legacy' } },
  );
  const transport = new StreamableHTTPClientTransport(new URL(`${addressOf(tenantID)}${query}`), {
    requestInit: { headers },
    ...(fetch && { fetch }),
  });
  await client.connect(transport);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

function addressOf(tenantID: string): string {
  return `http://127.0.0.1:${mcp.port}/tenants/${tenantID}/mcp`;
}

async function bearer(user: { email: string }): Promise<Record<string, string>> {
  return { authorization: `Bearer ${await cluster.tokenFor(user)}` };
}

async function namesOf(client: Client): Promise<string[]> {
  const { tools } = await client.listTools();
  return tools.map(({ name }) => name);
}

describe.each([current, before])('in version %s', (version) => {
  test('a client lists every page of tools, calls one, reads resources and prompts', async () => {
    await using client = await connect({ headers: await bearer(tenant.creator), version, query: '?tools=all' });

    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    // Strict clients refuse a list in which a schema has these.
    expect(JSON.stringify(tools)).not.toMatch(/"items":(true|false)/);
    const health = await fetch(`http://127.0.0.1:${mcp.port}/health`);
    expect(await health.json()).toMatchObject({ tools: names.length });
    expect(names.length).toBeGreaterThan(200);
    expect(names).toEqual(expect.arrayContaining(['get_tenant_resource_summary', 'execute_workflow', 'run_cron_job']));

    const { id } = await aWorkflow(cluster, { tenant });
    const { structuredContent, isError } = await client.callTool({
      name: 'get_workflow',
      arguments: { workflowID: id },
    });
    expect({ structuredContent, isError }).toMatchObject({ structuredContent: { success: true, workflow: { id } } });
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toContain(`gantry://workflows/${id}`);
    const ofTemplate = { type: 'ref/resource', uri: 'gantry://workflows/{workflowID}' } as const;
    const valuesOf = async (value: string) =>
      (await client.complete({ ref: ofTemplate, argument: { name: 'workflowID', value } })).completion.values;
    expect(await valuesOf(id.slice(0, 30))).toContain(id);
    expect(await valuesOf('no such title')).toEqual([]);
    const kind = { name: 'kind', value: 'q' };
    expect(
      await client.complete({ ref: { type: 'ref/resource', uri: 'gantry://schemas/{kind}' }, argument: kind }),
    ).toMatchObject({ completion: { values: ['queries'] } });
    await expect(client.complete({ ref: ofTemplate, argument: kind })).rejects.toThrow(/argument.name/);
    const { contents } = await client.readResource({ uri: `gantry://workflows/${id}` });
    expect(contents).toHaveLength(1);
    const { messages } = await client.getPrompt({ name: 'build_workflow', arguments: { goal: 'count things' } });
    expect(JSON.stringify(messages)).toContain('count things');
  });

  test('a run reports progress, and answers with its handle and its outcome', async () => {
    await using client = await connect({ headers: await bearer(tenant.creator), version });
    const { id } = await aWorkflow(cluster, {
      tenant,
      ...chain({ count: { type: 'javascript', code: 'return 42;', outputVariable: 'it' } }),
    });
    const heard: string[] = [];

    const answer = await client.callTool(
      { name: 'execute_workflow', arguments: { workflowID: id } },
      { onprogress: ({ message = '' }) => void heard.push(message) },
    );

    expect(answer.structuredContent).toMatchObject({
      success: true,
      instanceID: expect.any(String),
      status: 'COMPLETED',
    });
    expect(heard[0]).toMatch(/^Run [\w-]+ has started$/);
    expect(heard.at(-1)).toBe('Run: COMPLETED');
  });
});

const sleep = { name: 'execute_raw_sql', arguments: { sql: 'select pg_sleep(20), 1 as slept' } };

test.each([current, before])('a cancelled call ends the work that it asked for, in version %s', async (version) => {
  // The message that cancels reaches another process than the call.
  const elsewhere: typeof fetch = (url, init) =>
    fetch(
      String(init?.body).includes('notifications/cancelled')
        ? String(url).replace(`:${mcp.port}/`, `:${other.port}/`)
        : url,
      init,
    );
  await using client = await connect({ headers: await bearer(tenant.creator), version, fetch: elsewhere });
  const cancel = new AbortController();
  const sleeping = client.callTool(sleep, { signal: cancel.signal });
  sleeping.catch(() => undefined);
  await eventually(async () => expect(await sleepers()).toBe(1));
  cancel.abort('enough');
  await expect(sleeping).rejects.toThrow();
  await eventually(async () => expect(await sleepers()).toBe(0));
});

describe('a run that a call has started', () => {
  const hour = graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 60 } }, ['start>wait']);

  /** Calls until the run is reported, and answers with its id. */
  async function executing(client: Client, more: { signal?: AbortSignal; wait?: number } = {}) {
    const { id: workflowID } = await aWorkflow(cluster, { tenant, ...hour });
    const { signal, ...wait } = more;
    const heard: string[] = [];
    const call = client.callTool(
      { name: 'execute_workflow', arguments: { workflowID, ...wait } },
      { ...(signal && { signal }), onprogress: ({ message = '' }) => void heard.push(message) },
    );
    call.catch(() => undefined);
    await eventually(() => expect(heard).not.toEqual([]));
    const [, instanceID = ''] = /^Run ([\w-]+) has started$/.exec(heard[0] ?? '') ?? [];
    await eventually(async () => expect(await statusOf(instanceID)).toBe('WAITING'));
    return { instanceID, call };
  }

  async function statusOf(instanceID: string): Promise<string> {
    const { rows } = await cluster.pool.query('select status from workflow_instance where id = $1', [instanceID]);
    return rows[0]?.status;
  }

  test.each([
    [current, {}],
    [current, { wait: 30 }],
    [before, {}],
  ])('is stopped when its client cancels the call, in version %s with %j', async (version, wait) => {
    await using client = await connect({ headers: await bearer(tenant.creator), version });
    const cancel = new AbortController();
    const { instanceID, call } = await executing(client, { signal: cancel.signal, ...wait });
    cancel.abort();
    await expect(call).rejects.toThrow();
    await eventually(async () => expect(await statusOf(instanceID)).toBe('CANCELLED'));
  });

  test('goes on if the connection of a client is lost for which that is no cancellation', async () => {
    const lost = new AbortController();
    const losing: typeof fetch = (url, init) => fetch(url, { ...init, signal: lost.signal });
    await using client = await connect({ headers: await bearer(tenant.creator), version: before, fetch: losing });
    const { instanceID } = await executing(client);
    lost.abort();
    await pause(300);
    expect(await statusOf(instanceID)).toBe('WAITING');
  });

  test('goes on if the process of the service ends', async () => {
    const ending = await startService();
    const there: typeof fetch = (url, init) => fetch(String(url).replace(`:${mcp.port}/`, `:${ending.port}/`), init);
    await using client = await connect({ headers: await bearer(tenant.creator), fetch: there });
    const { instanceID } = await executing(client);
    await ending[Symbol.asyncDispose]();
    await pause(300);
    expect(await statusOf(instanceID)).toBe('WAITING');
  });

  test('is waited for as long as the client asks', async () => {
    await using client = await connect({ headers: await bearer(tenant.creator) });
    const long = { type: 'javascript', code: 'return "x".repeat(100_000);', outputVariable: 'it' };
    const end = { type: 'end', outputParameters: [{ name: 'text', sourceVariable: '{{ctx.it}}' }] };
    const flow = graph({ start: { type: 'start' }, long, end }, ['start>long', 'long>end']);
    const { id } = await aWorkflow(cluster, { tenant, ...flow });
    const answer = await client.callTool({ name: 'execute_workflow', arguments: { workflowID: id, wait: 30 } });
    const late = await client.callTool({
      name: 'execute_workflow',
      arguments: { workflowID: (await aWorkflow(cluster, { tenant, ...hour })).id, wait: 0.3 },
    });

    // The end that no message carries is read from the run.
    expect(answer.structuredContent).toMatchObject({ status: 'COMPLETED', error: null });
    expect(JSON.stringify(answer.structuredContent).length).toBeGreaterThan(100_000);
    expect(late.structuredContent).toEqual({ success: true, instanceID: expect.any(String) });
  });
});

test('a call is cancelled by the client that made it alone', async () => {
  const member = await aMember(cluster, { tenant, can: ['workflow.list'] });
  const headersOf = async (user: { email: string }, session: string) => ({
    ...(await bearer(user)),
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': before,
    'mcp-session-id': session,
  });
  const send = async (user: { email: string }, session: string, message: object) =>
    fetch(addressOf(tenant.id), {
      method: 'POST',
      headers: await headersOf(user, session),
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  const cancel = { method: 'notifications/cancelled', params: { requestId: 7 } };
  const called = send(tenant.creator, 'one', { id: 7, method: 'tools/call', params: sleep });
  await eventually(async () => expect(await sleepers()).toBe(1));

  for (const [user, session, id] of [
    [member, 'one', 7],
    [tenant.creator, 'two', 7],
    [tenant.creator, 'one', '7'],
  ] as const)
    expect((await send(user, session, { ...cancel, params: { requestId: id } })).status).toBe(202);
  await pause(200);
  expect(await sleepers()).toBe(1);

  expect((await send(tenant.creator, 'one', cancel)).status).toBe(202);
  await eventually(async () => expect(await sleepers()).toBe(0));
  await (await called).body?.cancel();
});

async function sleepers(): Promise<number> {
  const { rows } = await tenantServer.query(
    `select count(*)::int as n from pg_stat_activity where state = 'active' and query like '%as slept' and pid <> pg_backend_pid()`,
  );
  return rows[0]?.n ?? 0;
}

test('the lists of two callers differ as what they may do', async () => {
  const viewer = await aMember(cluster, { tenant, can: ['workflow.list', 'workflow.read'] });
  await using client = await connect({ headers: await bearer(viewer), query: '?tools=all' });

  const names = await namesOf(client);

  expect(names).toEqual(expect.arrayContaining(['list_workflows', 'get_workflow', 'search_resources']));
  expect(names).not.toEqual(expect.arrayContaining(['execute_workflow']));
  expect(names.filter((name) => /create|delete|update|execute|query/.test(name))).toEqual([]);
  const { isError, content } = await client.callTool({
    name: 'create_folder',
    arguments: { entityType: 'workflow', folderTitle: 'A' },
  });
  expect({ isError, content }).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('PERMISSION_DENIED') }],
  });
});

test('a grouped list is short, finds tools by words, and hides none from a call', async () => {
  await using client = await connect({ headers: await bearer(tenant.creator), query: '?tools=grouped' });

  expect(await namesOf(client)).toEqual(['search_tools', 'call_tool']);
  const { structuredContent } = await client.callTool({
    name: 'search_tools',
    arguments: { query: 'dead letter redrive', limit: 3 },
  });
  expect(JSON.stringify(structuredContent)).toContain('redrive_listener_event');
  const direct = await client.callTool({ name: 'list_folders', arguments: { entityType: 'workflow' } });
  const through = await client.callTool({
    name: 'call_tool',
    arguments: { name: 'list_folders', arguments: { entityType: 'workflow' } },
  });
  expect(through.content).toEqual(direct.content);
  expect(direct).toMatchObject({ structuredContent: { success: true } });
  expect(through.structuredContent).toBeUndefined();
});

test('a stranger learns where to sign in, and another tenant admits neither members nor keys', async () => {
  const refused = await fetch(addressOf(tenant.id), {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  });
  expect(refused.status).toBe(401);
  const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
  expect(await (await fetch(metadata)).json()).toMatchObject({
    resource: addressOf(tenant.id),
    bearer_methods_supported: ['header'],
  });
  const other = await aTenant(cluster);
  await expect(connect({ headers: await bearer(tenant.creator), tenantID: other.id })).rejects.toThrow(
    /403|PERMISSION_DENIED|not allowed/,
  );
  const { key } = await anApiKey(cluster, { tenant, can: ['workflow.list'] });
  await expect(connect({ headers: { 'x-api-key': key }, tenantID: other.id })).rejects.toThrow(
    /403|PERMISSION_DENIED|not allowed/,
  );
  const page = await fetch(addressOf(tenant.id), {
    method: 'POST',
    headers: { origin: 'https://evil.example', ...(await bearer(tenant.creator)) },
  });
  expect(page.status).toBe(403);
});

test('a key that is revoked is refused with the next message', async () => {
  const { key, id } = await anApiKey(cluster, { tenant, can: ['folder.list'] });
  await using client = await connect({ headers: { authorization: `api_key ${key}` } });
  const call = () => client.callTool({ name: 'list_folders', arguments: { entityType: 'workflow' } });
  expect(await call()).toMatchObject({ structuredContent: { success: true } });

  await cluster.as(tenant.creator).in(tenant).delete(`T/apikeys/${id}`);

  await expect(call()).rejects.toThrow();
});

test('messages are counted as requests, a tool call as one, and batches are refused', async () => {
  const user = await aMember(cluster, { tenant, can: ['folder.list'] });
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'list_folders', arguments: { entityType: 'workflow' } },
  };
  const send = async (body: object) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(await bearer(user)),
    };
    const response = await fetch(addressOf(tenant.id), { method: 'POST', headers, body: JSON.stringify(body) });
    return {
      status: response.status,
      left: Number(response.headers.get('ratelimit-remaining')),
      text: await response.text(),
    };
  };
  const first = await send(message);
  const second = await send(message);
  expect(second.text).toContain('folders');
  expect(first.left - second.left).toBe(1);
  expect(await send([message, message])).toMatchObject({ status: 400 });
});

test('annotations say what reads, what destroys, what may be repeated, and what reaches other servers', async () => {
  await using client = await connect({ headers: await bearer(tenant.creator), query: '?tools=all' });
  const { tools } = await client.listTools();
  const hints = new Map(
    tools.map(({ name, annotations = {} }) => {
      const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
      return [name, [readOnlyHint, destructiveHint, idempotentHint, openWorldHint]];
    }),
  );
  expect(Object.fromEntries(hints)).toMatchObject({
    get_workflow: [true, false, true, false],
    create_workflow: [false, false, false, false],
    update_workflow: [false, true, true, false],
    delete_workflow: [false, true, true, false],
    execute_workflow: [false, true, false, true],
    execute_raw_sql: [false, true, false, true],
    pause_cron_job: [false, false, true, false],
    test_datasource_connection: [true, false, true, true],
    get_widget_data: [false, true, false, true],
  });
  const of = (verb: RegExp, at: number) =>
    [...hints].filter(([name, all]) => verb.test(name) && !all[at]).map(([name]) => name);
  // They run stored statements, which may write.
  const statements = ['get_widget_data', 'get_widget_data_by_config', 'get_widgets_data'];
  expect([of(/^(list|get)_/, 0).sort(), of(/^(delete|purge|drop)_/, 1)]).toEqual([statements, []]);
});

test('the tool that starts a workflow says where its inputs are declared, and a refusal names those that are missing', async () => {
  await using client = await connect({ headers: await bearer(tenant.creator), query: '?tools=all' });
  const options = { inputDefinitions: [{ key: 'customer', type: 'string' as const, required: true }] };
  const { id: workflowID } = await aWorkflow(cluster, { tenant, title: 'Asks for a customer', ...chain({}), options });
  const { tools } = await client.listTools();
  const start = tools.find(({ name }) => name === 'execute_workflow');
  expect(start?.description).toContain('`workflowOptions.inputDefinitions` of get_workflow');
  const read = await client.callTool({ name: 'get_workflow', arguments: { workflowID } });
  expect(read.structuredContent).toMatchObject({ workflow: { workflowOptions: options } });
  const refused = await client.callTool({ name: 'execute_workflow', arguments: { workflowID, args: {} } });
  expect(refused).toMatchObject({ isError: true });
  expect(JSON.stringify(refused.content)).toContain('args.customer: is required');
  // Some models write objects as text.
  const started = await client.callTool({
    name: 'execute_workflow',
    arguments: { workflowID, args: '{"customer":"Ann"}' },
  });
  expect(started.structuredContent).toMatchObject({ success: true, instanceID: expect.any(String) });
});

test('health tells how many tools there are', async () => {
  const answer = await fetch(`http://127.0.0.1:${mcp.port}/health`);
  expect(await answer.json()).toEqual({ status: 'ok', tools: expect.any(Number), timestamp: expect.any(String) });
});

test('a message holds its bytes twice, before they have come, until its connection ends', async () => {
  const length = 4 * 1024 * 1024;
  const headers = { ...(await bearer(tenant.creator)), 'content-type': 'application/json', 'content-length': length };
  const sending = request(addressOf(tenant.id), { method: 'POST', headers }).on('error', () => undefined);
  sending.flushHeaders();

  await eventually(() => expect(cluster.context.requests.bytes.used).toBe(2 * length));
  sending.destroy();
  await eventually(() => expect(cluster.context.requests.bytes.used).toBe(0));
});

test.each([
  ['1.1', 'close', 'close'],
  ['1.1', 'keep-alive', 'keep-alive'],
  ['1.0', undefined, 'close'],
])(
  'a stream to a client of HTTP/%s that says Connection: %s ends with Connection: %s',
  async (version, said, expected) => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: before, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    });
    const head = {
      ...(await bearer(tenant.creator)),
      host: 'localhost',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': String(body.length),
      ...(said && { connection: said }),
    };
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
    const socket = connectTCP(mcp.port, '127.0.0.1');
    try {
      let text = '';
      socket.on('data', (bytes) => {
        text += bytes.toString();
      });
      socket.write(`POST /tenants/${tenant.id}/mcp HTTP/${version}\r\n${lines.join('')}\r\n${body}`);
      await eventually(() => expect(text).toContain('"protocolVersion"'));
      expect(/content-type: ([^;\r]*)/i.exec(text)?.[1]).toBe('text/event-stream');
      expect(/\r\nconnection: ([^\r]*)/i.exec(text)?.[1]).toBe(expected);
      if (expected === 'close') await eventually(() => expect(socket.readableEnded).toBe(true));
    } finally {
      socket.destroy();
    }
  },
);
