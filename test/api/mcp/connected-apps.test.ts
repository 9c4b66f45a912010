import { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '#test/support/client.ts';
import { type AppDeployment, connectApp, mcpSite, mcpURL, startAppDeployment } from '#test/support/mcp-app.ts';
import { anAccount, programAt, signIn, site, visit } from '#test/support/sign-in.ts';

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

  // Its access token ends: the client takes another by its refresh token, and asks nobody.
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
