import { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setPassword } from '#api/sign-in/accounts.ts';
import { listApps } from '#api/sign-in/apps.ts';
import { endOtherSessions, endSession } from '#api/sign-in/sessions.ts';
import { newID } from '#shared/core/ids.ts';
import { inTransaction } from '#shared/db/pool.ts';
import { createClient } from '#test/support/client.ts';
import { type AppDeployment, connectApp, mcpSite, mcpURL, startAppDeployment } from '#test/support/mcp-app.ts';
import { eventually } from '#test/support/settle.ts';
import { anAccount, issuer, programAt, signIn, site, visit } from '#test/support/sign-in.ts';

let deployment: AppDeployment;
beforeAll(async () => {
  deployment = await startAppDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

/** A user with an account and a tenant, and their client of REST, which is signed in as the console is. */
async function aUserWithTenant(email: string, tenantTitle = 'Northwind') {
  const { cluster } = deployment;
  await anAccount(cluster, email);
  const { page, flow } = await signIn(visit(cluster), { email });
  const tokens = await programAt(cluster.baseURL).redeem(flow, page.leadsTo ?? new URL(site));
  const rest = createClient(cluster.baseURL, async () => ({ authorization: `Bearer ${tokens.id_token}` }));
  const { tenant } = (await rest.post('/api/v1/tenants', { tenantTitle })).body;
  return { email, rest, tenantID: tenant.tenantID as string, idToken: tokens.id_token ?? '' };
}

/** A message to the MCP service by hand. */
function callWith(token: string, tenantID: string, url = mcpURL(tenantID)): Promise<Response> {
  return deployment.fetchFrom()(url, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' },
      ...{ 'content-type': 'application/json', 'mcp-protocol-version': '2025-11-25' },
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
}

type Connected = Awaited<ReturnType<typeof connectApp>>;

async function refreshWith({ stored }: Connected, more: Record<string, string>) {
  const response = await deployment.fetchFrom()(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      ...{ grant_type: 'refresh_token', client_id: stored.client?.client_id ?? '' },
      ...{ refresh_token: stored.tokens?.refresh_token ?? '', ...more },
    }),
  });
  const { error, scope } = (await response.json()) as { error?: string; scope?: string };
  return { status: response.status, ...(error ? { error } : { scope }) };
}

test('a standard client that knows only the address registers, signs its user in, and works', async () => {
  const { cluster, fetchFrom } = deployment;
  const { email, tenantID } = await aUserWithTenant('ada@example.com');
  const fetch = fetchFrom();
  const refused = await fetch(mcpURL(tenantID), { method: 'POST' });
  const { stored, client, provider, transport } = await connectApp(deployment, { email, tenantID, fetch });
  const { tools } = await client.listTools();
  const called = await client.callTool({ name: 'find_assets' });
  await client.close();

  expect(refused.status).toBe(401);
  expect(refused.headers.get('www-authenticate')).toBe(
    `Bearer resource_metadata="${mcpSite}/.well-known/oauth-protected-resource/tenants/${tenantID}/mcp"`,
  );
  expect(stored.asked[0]?.searchParams.get('resource')).toBe(mcpURL(tenantID));
  expect(tools.map(({ name }) => name)).toContain('run_workflow');
  expect(called.isError).toBeUndefined();

  // Its access token ends: the client takes another by its refresh token, and asks no user.
  await cluster.pool.query("delete from sign_in_record where kind = 'AccessToken'");
  const before = stored.tokens?.access_token;
  const again = new Client({ name: 'test', version: '1' });
  await again.connect(transport(mcpURL(tenantID)));
  expect((await again.callTool({ name: 'find_assets' })).isError).toBeUndefined();
  expect(stored.tokens?.access_token).not.toBe(before);
  expect(stored.asked).toHaveLength(1);
  expect(await provider.tokens()).toMatchObject({ token_type: 'Bearer', expires_in: 3600 });
  await again.close();
});

test('a disconnected app is refused from its next request on, and cannot refresh', async () => {
  const { cluster } = deployment;
  const { email, tenantID } = await aUserWithTenant('dora@example.com');
  const app = await connectApp(deployment, { email, tenantID, name: 'Claude \u202e<b>Code</b>' });
  await app.client.callTool({ name: 'find_assets' });
  const visitor = visit(cluster);
  await signIn(visitor, { email });
  await eventually(async () => expect((await visitor.open(`${issuer}/account`)).text).toContain(', last used 20'));
  const page = await visitor.open(`${issuer}/account`);
  const form = page.text.match(/<form[\s\S]*?<\/form>/g)?.findIndex((text) => text.includes('/apps/disconnect')) ?? -1;

  expect(page.text).toContain('<strong>Claude &#60;b&#62;Code&#60;/b&#62;</strong> in Northwind');
  expect(page.text).toContain('Run workflows, and see, repeat and stop runs');
  const after = await visitor.submit(page, {}, { form });
  expect(after.text).toContain('There are none.');
  const refused = await callWith(app.stored.tokens?.access_token ?? '', tenantID);
  expect(refused.status).toBe(401);
  expect(await refreshWith(app, {})).toEqual({ status: 400, error: 'invalid_grant' });
  // A token that was made while its app was disconnected is good for nothing.
  const late = await connectApp(deployment, { email, tenantID });
  await cluster.pool.query("delete from sign_in_record where kind = 'Grant' and resource is not null");
  expect((await callWith(late.stored.tokens?.access_token ?? '', tenantID)).status).toBe(401);
  const { rows } = await cluster.pool.query(
    "select action from sign_in_audit where action like 'APP%' order by created_at, id",
  );
  expect(rows.map(({ action }) => action).slice(-2)).toEqual(['APP_DISCONNECTED', 'APP_CONNECTED']);
});

test('a new password, and blocking the account, end connected apps; ending sessions of browsers does not', async () => {
  const { cluster } = deployment;
  const { email, tenantID } = await aUserWithTenant('nora@example.com');
  const app = await connectApp(deployment, { email, tenantID });
  const token = app.stored.tokens?.access_token ?? '';
  const { rows } = await cluster.pool.query('select id from sign_in_account where email = $1', [email]);
  const accountID = rows[0].id as string;

  const sessions = await cluster.pool.query(
    "select uid from sign_in_record where kind = 'Session' and account_id = $1",
    [accountID],
  );
  expect(sessions.rows.length).toBeGreaterThan(1);
  for (const { uid } of sessions.rows) await endSession(cluster.pool, accountID, uid);
  await endOtherSessions(cluster.pool, accountID, 'another');
  expect((await callWith(token, tenantID)).status).toBe(200);
  await cluster.pool.query('update sign_in_account set is_disabled = true where id = $1', [accountID]);
  expect((await callWith(token, tenantID)).status).toBe(401);
  await cluster.pool.query('update sign_in_account set is_disabled = false where id = $1', [accountID]);
  expect((await callWith(token, tenantID)).status).toBe(200);
  await inTransaction(cluster.pool, (client) =>
    setPassword(client, { accountID, passwordHash: 'x', except: 'another' }),
  );
  expect((await callWith(token, tenantID)).status).toBe(401);
  expect(await listApps(cluster.pool, accountID)).toEqual([]);
});

test('the audit trail names the app of a call', async () => {
  const { email, tenantID } = await aUserWithTenant('audit@example.com');
  const { client, stored } = await connectApp(deployment, { email, tenantID, name: 'Cursor', query: '?tools=all' });
  const made = await client.callTool({
    name: 'create_folder',
    arguments: { folderTitle: 'Made by an app', entityType: 'workflow' },
  });

  expect(made.isError, JSON.stringify(made.content)).toBeUndefined();
  const { rows } = await deployment.cluster.pool.query(
    "select details -> 'app' as app from audit_record where tenant_id = $1 and path like '%/folders' and kind = 'entry'",
    [tenantID],
  );
  expect(rows).toEqual([{ app: { name: 'Cursor', clientID: stored.client?.client_id } }]);
});

test('scopes cut the list and the calls, also of a user who may do more; the user chooses among what the app asks for', async () => {
  const { email, tenantID } = await aUserWithTenant('scopes@example.com');
  const { client, stored } = await connectApp(deployment, { email, tenantID, consent: { scopes: ['data'] } });
  const names = (await client.listTools()).tools.map(({ name }) => name);
  const called = async (name: string, args = {}) => (await client.callTool({ name, arguments: args })).isError === true;

  expect(stored.tokens?.scope).toBe('data');
  expect(names).toEqual(expect.arrayContaining(['find_assets', 'list_rows', 'save_query', 'call_tool']));
  expect(names).not.toContain('run_workflow');
  expect(names).not.toContain('save_page');
  expect(await called('list_datasources')).toBe(false);
  expect(await called('find_assets', { query: 'orders' })).toBe(false);
  for (const name of ['list_workflows', 'list_api_keys', 'save_page', 'list_runs'])
    expect(await called(name), name).toBe(true);
  expect(await called('call_tool', { name: 'list_workflows' })).toBe(true);
  const answerOf = async (call: Parameters<typeof client.callTool>[0]) => JSON.stringify(await client.callTool(call));
  expect(await answerOf({ name: 'list_api_keys' })).toContain('was not allowed `admin`');
  // A tool that every app has is cut inside.
  const asked = { type: 'workflow', id: newID() };
  expect(await answerOf({ name: 'read_asset', arguments: asked })).toContain('was not allowed `build`');
});
