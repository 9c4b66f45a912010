import { auth, Client, type OAuthClientProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MCP } from '#api/mcp/listen.ts';
import { createBrowser } from '#test/support/browser.ts';
import { createClient } from '#test/support/client.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { startMCPOf } from '#test/support/mcp.ts';
import { type OidcProvider, redirectURI, startOidcProvider } from '#test/support/oidc-provider.ts';

let provider: OidcProvider;
let cluster: Cluster;
let mcp: MCP;
beforeAll(async () => {
  provider = await startOidcProvider();
  const settings = { DEV_ISSUER_KEY_FILE: '', AUTH_ISSUER: provider.issuer, AUTH_AUDIENCE: 'gantry' };
  cluster = await startCluster({ workers: false, settings });
  mcp = await startMCPOf(cluster);
});
afterAll(async () => {
  await mcp[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

/** The credentials of a user that a program has; the browser signs in as this person. */
function credentialsOf(email: string) {
  const stored: { tokens?: Awaited<ReturnType<OAuthClientProvider['tokens']>>; verifier: string; callback?: URL } = {
    verifier: '',
  };
  const asked: URL[] = [];
  const credentials: OAuthClientProvider = {
    redirectUrl: redirectURI,
    clientMetadata: { redirect_uris: [redirectURI], token_endpoint_auth_method: 'none' },
    clientInformation: () => ({ client_id: 'gantry' }),
    tokens: () => stored.tokens,
    saveTokens: (tokens) => void Object.assign(stored, { tokens }),
    saveCodeVerifier: (verifier) => void Object.assign(stored, { verifier }),
    codeVerifier: () => stored.verifier,
    async redirectToAuthorization(url) {
      asked.push(url);
      stored.callback = new URL((await createBrowser().visit(url.href, { as: email, until: redirectURI })).url);
    },
  };
  return { credentials, stored, asked };
}

test('a standard client signs its user in, knowing nothing but the address of the service', async () => {
  const email = 'ada@example.com';
  const idToken = await provider.signIn({ email });
  const rest = createClient(cluster.baseURL, async () => ({ authorization: `Bearer ${idToken}` }));
  const { tenant } = (await rest.post('/api/v1/tenants', { tenantTitle: 'Northwind' })).body;
  const url = new URL(`http://127.0.0.1:${mcp.port}/tenants/${tenant.tenantID}/mcp`);
  const { credentials, stored, asked } = credentialsOf(email);

  const first = new StreamableHTTPClientTransport(url, { authProvider: credentials });
  await expect(new Client({ name: 'test', version: '1' }).connect(first)).rejects.toThrow(/[Uu]nauthorized/);
  await first.finishAuth(stored.callback?.searchParams ?? new URLSearchParams());
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(url, { authProvider: credentials }));
  const { structuredContent } = await client.callTool({ name: 'get_tenant_info' });
  await client.close();

  expect(asked.map(({ searchParams }) => [searchParams.get('resource'), searchParams.get('scope')])).toEqual([
    [url.href, expect.stringContaining('email')],
  ]);
  expect(structuredContent).toMatchObject({ success: true, tenant: { tenantTitle: 'Northwind' } });
  // Not the ID token, which is for the client itself.
  expect(stored.tokens?.access_token).not.toBe(stored.tokens?.id_token);
  const { rows } = await cluster.pool.query('select email from app_user');
  expect(rows).toEqual([{ email }]);
});

test('the sign-in of a person who is no member opens no tenant', async () => {
  const idToken = await provider.signIn({ email: 'owner@example.com' });
  const rest = createClient(cluster.baseURL, async () => ({ authorization: `Bearer ${idToken}` }));
  const { tenant } = (await rest.post('/api/v1/tenants', { tenantTitle: 'Closed' })).body;
  const url = new URL(`http://127.0.0.1:${mcp.port}/tenants/${tenant.tenantID}/mcp`);
  const { credentials, stored } = credentialsOf('eve@example.com');
  await auth(credentials, { serverUrl: url });
  const transport = new StreamableHTTPClientTransport(url, { authProvider: credentials });
  await transport.finishAuth(stored.callback?.searchParams ?? new URLSearchParams());

  await expect(new Client({ name: 'test', version: '1' }).connect(transport)).rejects.toThrow(/403|PERMISSION_DENIED/);
});
