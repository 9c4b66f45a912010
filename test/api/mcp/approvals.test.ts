import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { MCP } from '#api/mcp/listen.ts';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import type { ToolApprovalPolicy } from '#shared/apps/ai/tool-approvals.ts';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aMember, anApiKey, aTenant, aWorkflow, type TestTenant } from '#test/support/factories.ts';
import { connectMCP, startMCPOf } from '#test/support/mcp.ts';
import { eventually } from '#test/support/settle.ts';

let cluster: Cluster;
let mcp: MCP;
let tenant: TestTenant;

beforeAll(async () => {
  cluster = await startCluster({ apis: 2 });
  mcp = await startMCPOf(cluster);
});
beforeEach(async () => {
  tenant = await aTenant(cluster);
  await setPolicy('destructive');
});
afterAll(async () => {
  await mcp[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

async function setPolicy(policy: ToolApprovalPolicy, more: { byAnother?: boolean } = {}): Promise<void> {
  const answer = await api().put('T/tool-approval-policy', { policy, ...more });
  expect(answer.status).toBe(200);
}

function api(user: { email: string } = tenant.creator, of = tenant) {
  return cluster.as(user).in(of);
}

async function connect(headers: Record<string, string>, query = '') {
  return connectMCP({ mcp, tenantID: tenant.id, headers, query });
}

async function connectAs(user: { email: string } = tenant.creator, query = '') {
  return connect({ authorization: `Bearer ${await cluster.tokenFor(user)}` }, query);
}

interface Answered {
  isError?: boolean | undefined;
  content: unknown;
  structuredContent?: unknown;
}

function handleOf({ structuredContent }: Answered): string {
  const { approval } = structuredContent as { approval: { toolCallID: string; status: string } };
  expect(approval.status).toBe('asked');
  return approval.toolCallID;
}

async function deletes(client: Client, id: string): Promise<string> {
  return handleOf(await client.callTool({ name: 'delete_workflow', arguments: { workflowID: id } }));
}

function awaits(client: Client, toolCallID: string): Promise<Answered> {
  return client.callTool({ name: 'await_tool_approval', arguments: { toolCallID } });
}

async function exists(workflowID: string): Promise<boolean> {
  const { rowCount } = await cluster.pool.query('select from workflow where id = $1', [workflowID]);
  return rowCount === 1;
}

const approve = (id: string, user = tenant.creator, of = tenant) =>
  api(user, of).post(`T/tool-approvals/${id}/approve`);

test('a call that may destroy something is done once a person approves it, and its client learns the result', async () => {
  const { id } = await aWorkflow(cluster, { tenant });
  await using client = await connectAs();
  const call = await deletes(client, id);
  const again = await deletes(client, id);
  const { notifications } = (await cluster.as(tenant.creator).get('/api/v1/notifications')).body;
  const { toolApprovals } = (await api().get('T/tool-approvals?waiting=true')).body;
  const before = await exists(id);
  const approved = await approve(call);
  const result = await awaits(client, call);

  expect(again).toBe(call);
  expect(notifications).toMatchObject([
    { kind: 'toolApproval', subjectID: call, description: 'Call of delete_workflow' },
  ]);
  expect(toolApprovals).toMatchObject([{ toolCallID: call, tool: 'delete_workflow', input: { workflowID: id } }]);
  expect(before).toBe(true);
  expect(approved).toMatchObject({ status: 200, body: { toolApproval: { decidedBy: tenant.creator.id } } });
  expect(result).toMatchObject({ structuredContent: { success: true } });
  expect(await exists(id)).toBe(false);
  const closed = (await cluster.as(tenant.creator).get('/api/v1/notifications')).body;
  expect(closed).toMatchObject({ unreadCount: 0 });
});

test('a call that is made again while it is approved and under way is that call, and is done once', async () => {
  const { id } = await aWorkflow(cluster, { tenant });
  await using client = await connectAs();
  const call = await deletes(client, id);
  const other = await cluster.pool.connect();
  await other.query('begin');
  await other.query('select from workflow where id = $1 for update', [id]);
  await approve(call);

  const again = await client.callTool({ name: 'delete_workflow', arguments: { workflowID: id } });
  await other.query('rollback');
  other.release();

  expect(again.structuredContent).toMatchObject({ approval: { toolCallID: call, status: 'ready' } });
  expect(await awaits(client, call)).toMatchObject({ structuredContent: { success: true } });
  const { rows } = await cluster.pool.query('select status from ai_tool_call where tenant_id = $1', [tenant.id]);
  expect(rows).toEqual([{ status: 'done' }]);
});

test('what only reads or adds does not wait; with `changes` what adds waits too', async () => {
  await using client = await connectAs();
  const folder = { name: 'create_folder', arguments: { entityType: 'workflow', folderTitle: 'A' } };
  const { structuredContent: added } = await client.callTool(folder);
  await setPolicy('changes');
  const { structuredContent: waiting } = await client.callTool({ name: 'call_tool', arguments: { ...folder } });
  const { structuredContent: read } = await client.callTool({
    name: 'list_folders',
    arguments: { entityType: 'workflow' },
  });

  expect(added).toMatchObject({ success: true, folder: { folderTitle: 'A' } });
  expect(waiting).toMatchObject({ approval: { tool: 'create_folder', status: 'asked' } });
  expect(read).toMatchObject({ folders: [{ folderTitle: 'A' }] });
});

test('the list says what waits, and a client that checks answers against it accepts the handle', async () => {
  await using client = await connectAs(tenant.creator, '?tools=all');
  const { tools } = await client.listTools();
  const named = new Map(tools.map((tool) => [tool.name, tool]));

  expect(named.get('delete_workflow')?.description).toMatch(/waits for the approval of a person/);
  expect(named.get('delete_workflow')?.outputSchema).toBeUndefined();
  expect(named.get('get_workflow')?.outputSchema).toBeDefined();
  expect(named.has('await_tool_approval')).toBe(true);
  expect([...named.keys()].filter((name) => /approve_tool|refuse_tool|set_tool_approval/.test(name))).toEqual([]);
  const { id } = await aWorkflow(cluster, { tenant });
  expect(await deletes(client, id)).toBeTypeOf('string');
});

test('a client that shows progress waits, and gets the result of the tool itself', async () => {
  const { id } = await aWorkflow(cluster, { tenant });
  await using client = await connectAs();
  const heard: string[] = [];
  const asked = { name: 'delete_workflow', arguments: { workflowID: id } };
  const calling = client.callTool(asked, { onprogress: ({ message = '' }) => void heard.push(message) });
  await eventually(() => expect(heard).toHaveLength(1));
  const [, call = ''] = /call ([\w-]+) of/.exec(heard[0] ?? '') ?? [];
  await approve(call);

  expect((await calling).structuredContent).toMatchObject({ success: true });
  expect(await exists(id)).toBe(false);
});

test('a call that its client cancels can no longer be approved', async () => {
  const { id } = await aWorkflow(cluster, { tenant });
  await using client = await connectAs();
  const cancel = new AbortController();
  const heard: string[] = [];
  const calling = client.callTool(
    { name: 'delete_workflow', arguments: { workflowID: id } },
    { signal: cancel.signal, onprogress: ({ message = '' }) => void heard.push(message) },
  );
  calling.catch(() => undefined);
  await eventually(() => expect(heard).toHaveLength(1));
  const [, call = ''] = /call ([\w-]+) of/.exec(heard[0] ?? '') ?? [];
  cancel.abort();
  await expect(calling).rejects.toThrow();

  await eventually(async () =>
    expect((await api().get(`T/tool-approvals/${call}`)).body.toolApproval).toMatchObject({
      status: 'denied',
      reason: 'Its client has cancelled it',
      decidedBy: null,
    }),
  );
  expect(await approve(call)).toMatchObject({ status: 409 });
  expect(await exists(id)).toBe(true);
});

test('a refused call is not done, and its client is told why', async () => {
  const { id } = await aWorkflow(cluster, { tenant });
  await using client = await connectAs();
  const call = await deletes(client, id);
  const refused = await api().post(`T/tool-approvals/${call}/refuse`, { reason: 'It is in use' });
  const late = await approve(call);
  const result = await awaits(client, call);

  expect(refused).toMatchObject({ status: 200, body: { toolApproval: { status: 'denied', reason: 'It is in use' } } });
  expect(late).toMatchObject({ status: 409 });
  expect(result).toMatchObject({ isError: true });
  expect(JSON.stringify(result.content)).toContain('A person has refused it: It is in use');
  expect(await exists(id)).toBe(true);
});

test('a call that has expired can no longer be approved', async () => {
  const { id } = await aWorkflow(cluster, { tenant });
  await using client = await connectAs();
  const call = await deletes(client, id);
  await cluster.pool.query(`update ai_tool_call set expires_at = now() where id = $1`, [call]);
  const late = await approve(call);
  const result = await awaits(client, call);
  const another = await deletes(client, id);

  expect(late).toMatchObject({ status: 409 });
  expect(JSON.stringify(result.content)).toContain('It was not approved in time');
  expect(another).not.toBe(call);
  expect(await exists(id)).toBe(true);
});

test('two approvals at once do it once, also what is not safe to repeat', async () => {
  const { id } = await aWorkflow(cluster, { tenant });
  await using client = await connectAs();
  const call = handleOf(await client.callTool({ name: 'execute_workflow', arguments: { workflowID: id } }));
  const answers = await Promise.all([approve(call), approve(call)]);
  await awaits(client, call);

  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  const { rows } = await cluster.pool.query('select id from workflow_instance where workflow_id = $1', [id]);
  expect(rows).toHaveLength(1);
});

test('another tenant sees and decides nothing, and a key, a member without the permission and another caller neither', async () => {
  const { id } = await aWorkflow(cluster, { tenant });
  await using client = await connectAs();
  const call = await deletes(client, id);
  const other = await aTenant(cluster);
  const member = await aMember(cluster, { tenant, can: ['workflow.read', 'tenant.update'] });
  const { key } = await anApiKey(cluster, { tenant, can: ['ai.approve', 'tenant.update'] });
  await using agent = await connect({ 'x-api-key': key });
  const withKey = cluster.withKey({ key }).in(tenant);

  expect(await approve(call, other.creator, other)).toMatchObject({ status: 404 });
  expect((await api(other.creator, other).get('T/tool-approvals')).body.toolApprovals).toEqual([]);
  expect(await approve(call, member)).toMatchObject({ status: 403 });
  expect(await withKey.post(`T/tool-approvals/${call}/approve`)).toMatchObject({ status: 403 });
  expect(await withKey.put('T/tool-approval-policy', { policy: 'none' })).toMatchObject({ status: 403 });
  expect(JSON.stringify(await awaits(agent, call))).toContain('NOT_FOUND');
  expect(await exists(id)).toBe(true);
});

test('a right that the caller has lost by then is refused when it is called, and recorded', async () => {
  const { id } = await aWorkflow(cluster, { tenant });
  const member = await aMember(cluster, { tenant, can: ['workflow.read', 'workflow.delete'] });
  await using client = await connectAs(member);
  const call = await deletes(client, id);
  await changeRules(tenantEntityManager(cluster.context.orm.em, tenant.id), tenant.id, {
    remove: [{ subject: member.id, object: 'workflow:*', action: 'delete' }],
  });
  await approve(call);
  const result = await awaits(client, call);

  expect(JSON.stringify(result.content)).toContain('PERMISSION_DENIED');
  expect(await exists(id)).toBe(true);
  const { rows: entries } = await cluster.pool.query(
    `select user_id, action, status from audit_record where tenant_id = $1 and type = 'AI_TOOL_CALL' order by created_at`,
    [tenant.id],
  );
  expect(entries).toEqual([
    { user_id: tenant.creator.id, action: 'confirm', status: 200 },
    { user_id: member.id, action: 'refuse', status: 403 },
  ]);
});

test('where another person must approve, the caller may only refuse', async () => {
  await setPolicy('destructive', { byAnother: true });
  const { id } = await aWorkflow(cluster, { tenant });
  const approver = await aMember(cluster, { tenant, can: ['ai.approve'] });
  await using client = await connectAs();
  const [first, second] = [await deletes(client, id), await deletes(client, newID())];

  expect(await approve(first)).toMatchObject({ status: 403 });
  expect(await api().post(`T/tool-approvals/${second}/refuse`, {})).toMatchObject({ status: 200 });
  expect(await approve(first, approver)).toMatchObject({ status: 200 });
  await awaits(client, first);
  expect(await exists(id)).toBe(false);
});

test('secrets of an input are shown neither to people nor in the trail, and are gone once it has ended', async () => {
  await using client = await connectAs();
  const asked = { datasourceID: newID(), datasourceOptions: { host: 'db', password: 'hunter2-hunter2' } };
  const call = handleOf(await client.callTool({ name: 'update_datasource', arguments: asked }));
  const { toolApproval } = (await api().get(`T/tool-approvals/${call}`)).body;
  await api().post(`T/tool-approvals/${call}/refuse`, {});
  await api().post(`T/tool-approvals/${call}/refuse`, {});
  const { auditLogs } = (await api().get('T/audit?type=AI_TOOL_CALL')).body;

  expect(auditLogs).toMatchObject([
    {
      subType: 'deny',
      userID: tenant.creator.id,
      metadata: {
        tool: 'update_datasource',
        toolCallID: call,
        callerID: tenant.creator.id,
        input: { datasourceOptions: { host: 'db', password: '[REDACTED]' } },
      },
    },
  ]);
  expect(toolApproval.input).toMatchObject({ datasourceOptions: { host: 'db', password: '[REDACTED]' } });
  const { rows } = await cluster.pool.query('select to_jsonb(c)::text as row from ai_tool_call c where id = $1', [
    call,
  ]);
  expect(rows[0].row).not.toContain('hunter2');
});

test('a tenant has a hundred calls waiting at most', async () => {
  await cluster.pool.query(
    `insert into ai_tool_call (id, tenant_id, turn_id, number, origin, status, tool, input, input_digest, caller, shown_input, expires_at)
     select uuidv7(), $1, uuidv7(), 1, 'mcp', 'asked', 'a', '{}', '', '{}', '{}', now() + interval '1 hour' from generate_series(1, 100)`,
    [tenant.id],
  );
  await using client = await connectAs();
  const answer = await client.callTool({ name: 'delete_workflow', arguments: { workflowID: newID() } });
  expect(answer.isError).toBe(true);
  expect(JSON.stringify(answer.content)).toContain('RATE_LIMITED');
});
