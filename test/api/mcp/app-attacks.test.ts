import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createClient } from '#test/support/client.ts';
import {
  type AppDeployment,
  answerConsent,
  type Consent,
  loopbackURI,
  mcpURL,
  openConsent,
  startAppDeployment,
} from '#test/support/mcp-app.ts';
import { anAccount, issuer, programAt, signIn, site, visit } from '#test/support/sign-in.ts';
import type { Page, Visitor } from '#test/support/visitor.ts';

const email = 'victim@example.com';

let deployment: AppDeployment;
let tenants: string[];
let idToken: string;
let consoleToken: string;
beforeAll(async () => {
  deployment = await startAppDeployment();
  const { cluster } = deployment;
  await anAccount(cluster, email);
  await anAccount(cluster, 'stranger@example.com');
  const { page, flow } = await signIn(visit(cluster), { email });
  const tokens = await programAt(cluster.baseURL).redeem(flow, page.leadsTo ?? new URL(site));
  idToken = tokens.id_token ?? '';
  consoleToken = tokens.access_token;
  const rest = createClient(cluster.baseURL, async () => ({ authorization: `Bearer ${idToken}` }));
  const made = [
    await rest.post('/api/v1/tenants', { tenantTitle: 'One' }),
    await rest.post('/api/v1/tenants', { tenantTitle: 'Two' }),
  ];
  tenants = made.map(({ body }) => body.tenant.tenantID);
});
afterAll(() => deployment[Symbol.asyncDispose]());

let visitor: Visitor;
beforeEach(() => {
  visitor = visit(deployment.cluster);
});

const one = () => mcpURL(tenants[0] ?? '');

async function register(metadata: object = {}, fetch = deployment.fetchFrom()) {
  const response = await fetch(`${issuer}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ client_name: 'An app', redirect_uris: [loopbackURI], grant_types: ['authorization_code', 'refresh_token'] },
      ...metadata,
    }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

interface Begun {
  url: URL;
  clientID: string;
  verifier: string;
}

/** An app that has registered, and the address to which it sends the browser. */
async function begin(more: Record<string, string | undefined> = {}): Promise<Begun> {
  const { client_id: clientID = '' } =
    more.client_id === undefined ? (await register()).body : { client_id: more.client_id };
  const verifier = randomBytes(32).toString('base64url');
  const url = new URL(`${issuer}/auth`);
  const parameters = {
    ...{ client_id: clientID, redirect_uri: loopbackURI, response_type: 'code', scope: 'data runs', resource: one() },
    ...{ code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' },
    ...more,
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
  return { url, clientID, verifier };
}

async function codeFor({ url }: Begun, consent?: Consent): Promise<string> {
  const answer = await answerConsent(visitor, await openConsent(visitor, url, email), consent);
  return answer.leadsTo?.searchParams.get('code') ?? '';
}

async function tokenRequest(form: Record<string, string>) {
  const response = await deployment.fetchFrom()(`${issuer}/token`, { method: 'POST', body: new URLSearchParams(form) });
  return { status: response.status, ...((await response.json()) as Answer) };
}

interface Answer {
  error?: string;
  access_token?: string;
  refresh_token?: string;
  scope?: string;
}

const exchange = ({ clientID, verifier }: Begun, code: string, more: Record<string, string> = {}) =>
  tokenRequest({
    ...{ grant_type: 'authorization_code', client_id: clientID, code, code_verifier: verifier },
    ...{ redirect_uri: loopbackURI, ...more },
  });

const refresh = ({ clientID }: Begun, token: string, more: Record<string, string> = {}) =>
  tokenRequest({ grant_type: 'refresh_token', client_id: clientID, refresh_token: token, ...more });

async function connected(more: Record<string, string> = {}, consent?: Consent) {
  const app = await begin(more);
  const tokens = await exchange(app, await codeFor(app, consent));
  return { app, access: tokens.access_token ?? '', refresh: tokens.refresh_token ?? '', scope: tokens.scope };
}

async function statusAt(url: string, token: string): Promise<number> {
  const response = await deployment.fetchFrom()(url, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' },
      ...{ 'content-type': 'application/json', 'mcp-protocol-version': '2025-11-25' },
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  await response.body?.cancel();
  return response.status;
}

/** The answer that an address leads to without any consent. */
const errorOf = ({ leadsTo }: Page) => leadsTo?.searchParams.get('error');

describe('a token', () => {
  test('is good for the MCP service of its tenant alone, and tokens of the console stay as they were', async () => {
    const { access } = await connected();
    const rest = await deployment.fetchFrom()(`${site}/api/v1/tenants/${tenants[0]}/workflows`, {
      headers: { authorization: `Bearer ${access}` },
    });

    expect(await statusAt(one(), access)).toBe(200);
    expect(await statusAt(mcpURL(tenants[1] ?? ''), access)).toBe(401);
    expect(rest.status).toBe(401);
    expect(await statusAt(one(), consoleToken), 'an access token of the console names no resource').toBe(401);
    expect(await statusAt(one(), idToken)).toBe(200);
    expect(JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString()).aud).toBe('gantry');
  });

  test('ends when the app revokes it, with all that the app was given', async () => {
    const { app, access, refresh: token } = await connected();
    const revoke = (revoked: string) =>
      deployment.fetchFrom()(`${issuer}/token/revocation`, {
        method: 'POST',
        body: new URLSearchParams({ token: revoked, client_id: app.clientID }),
      });
    const other = await refresh(app, token);
    const grants = async () =>
      (
        await deployment.cluster.pool.query("select from sign_in_record where kind = 'Grant' and payload like $1", [
          `%${app.clientID}%`,
        ])
      ).rowCount;
    expect([await statusAt(one(), other.access_token ?? ''), await grants()]).toEqual([200, 1]);
    await revoke(access);
    expect([await statusAt(one(), access), await statusAt(one(), other.access_token ?? ''), await grants()]).toEqual([
      401, 401, 0,
    ]);
    expect(await refresh(app, other.refresh_token ?? '')).toMatchObject({ error: 'invalid_grant' });
  });

  test('does not become wider, nor one for another resource, by a refresh', async () => {
    const { app, refresh: token, scope } = await connected({}, { scopes: ['data'] });
    expect(scope).toBe('data');
    expect(await refresh(app, token, { scope: 'data runs' })).toMatchObject({ status: 400, error: 'invalid_scope' });
    expect(await refresh(app, token, { resource: mcpURL(tenants[1] ?? '') })).toMatchObject({
      ...{ status: 400, error: 'invalid_target' },
    });
    expect(await refresh(app, token)).toMatchObject({ status: 200, scope: 'data' });
  });

  test('is given without a refresh token where the user does not let the app stay connected', async () => {
    const { access, refresh: token } = await connected({}, { stays: false });
    expect(await statusAt(one(), access)).toBe(200);
    expect(token).toBe('');
  });
});

describe('a code', () => {
  test('is good once: a second use ends what the first was given', async () => {
    const app = await begin();
    const code = await codeFor(app);
    const tokens = await exchange(app, code);
    expect(await statusAt(one(), tokens.access_token ?? '')).toBe(200);
    expect(await exchange(app, code)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await statusAt(one(), tokens.access_token ?? '')).toBe(401);
  });

  test('needs PKCE by S256, and its verifier', async () => {
    const without = await begin({ code_challenge: undefined, code_challenge_method: undefined });
    const plain = await begin({ code_challenge_method: 'plain' });
    expect(errorOf(await visitor.open(without.url.href))).toBe('invalid_request');
    expect(errorOf(await visitor.open(plain.url.href))).toBe('invalid_request');
    const app = await begin();
    const wrong = { ...app, verifier: randomBytes(32).toString('base64url') };
    expect(await exchange(wrong, await codeFor(app))).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  test('of one app is nothing for another, and neither is its refresh token', async () => {
    const app = await begin();
    const { client_id: clientID = '' } = (await register()).body;
    const thief = { ...app, clientID };
    expect(await exchange(thief, await codeFor(app))).toMatchObject({ status: 400, error: 'invalid_grant' });
    const { refresh: token } = await connected();
    expect(await refresh(thief, token)).toMatchObject({ status: 400, error: 'invalid_grant' });
  });
});

describe('consent', () => {
  test('is asked of each app each time, also for what was agreed to before', async () => {
    const app = await begin();
    await codeFor(app);
    const again = await begin({ client_id: app.clientID });
    const silent = await begin({ client_id: app.clientID, prompt: 'none' });
    const wider = await begin({ client_id: app.clientID, scope: 'data runs admin' });
    expect(errorOf(await visitor.open(silent.url.href))).toMatch(/consent_required|interaction_required/);
    for (const { url } of [again, wider, await begin()]) {
      const page = await visitor.open(url.href);
      expect(page.leadsTo).toBeUndefined();
      expect(page.text).toContain('Let an app act for you?');
    }
  });

  test('is given on our page, in the browser that asked, and for what was asked', async () => {
    const app = await begin();
    const page = await openConsent(visitor, app.url, email);
    const [, action = ''] = /<form[^>]* action="([^"]+)"/.exec(page.text) ?? [];
    const form = { decision: 'allow', scope: 'data' };
    const forged = await visitor.open(action, {
      form,
      headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    });
    const elsewhere = await visit(deployment.cluster).open(action, { form });
    const { rows } = await deployment.cluster.pool.query(
      "select 1 from sign_in_record where kind = 'Grant' and payload like '%' || $1 || '%'",
      [app.clientID],
    );
    expect([forged.status, elsewhere.status]).toEqual([403, 400]);
    expect(rows).toEqual([]);
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self' http://127.0.0.1:33418");

    const answer = await answerConsent(visitor, page, { scopes: ['data', 'admin'] });
    const tokens = await exchange(app, answer.leadsTo?.searchParams.get('code') ?? '');
    const granted = await deployment.cluster.pool.query(GRANTED, [app.clientID]);
    expect([tokens.scope, granted.rows]).toEqual(['data', [{ scope: 'data' }]]);
  });

  test('is not needed to say no, and nothing is given without a choice', async () => {
    const app = await begin();
    const page = await openConsent(visitor, app.url, email);
    expect((await answerConsent(visitor, page, { scopes: [] })).problem).toContain('Choose what the app may do');
    const denied = await answerConsent(visitor, page, { decision: 'deny' });
    expect(errorOf(denied)).toBe('access_denied');
  });

  test('of a person who is no member of the tenant gives nothing', async () => {
    const app = await begin();
    const page = await openConsent(visitor, app.url, 'stranger@example.com');
    const forced = await answerConsent(visitor, page, { scopes: ['data'] });
    expect([page.status, forced.status]).toEqual([403, 403]);
    expect(page.problem).toContain('no member of this tenant');
    expect(page.text).not.toContain('>One<');
  });
});

const GRANTED = `select payload::json -> 'resources' ->> resource as scope from sign_in_record
  where kind = 'Grant' and payload::json ->> 'clientId' = $1`;

test('resources of other services are refused, and so is a missing one', async () => {
  for (const resource of [
    'https://evil.example/mcp',
    `${site}/api`,
    one().replace('mcp.', 'mcp.evil.'),
    one().replace('gantry.test', 'gantry.evil'),
    `${one()}/../x`,
    undefined,
  ])
    expect(errorOf(await visitor.open((await begin({ resource })).url.href)), resource).toBe('invalid_target');
});

describe('addresses of apps', () => {
  test('are those that were registered; of this machine with any port', async () => {
    const app = await begin({ redirect_uri: 'https://evil.example/callback' });
    const page = await visitor.open(app.url.href);
    expect([page.status, page.leadsTo]).toEqual([400, undefined]);
    const port = await begin({ redirect_uri: loopbackURI.replace('33418', '50123') });
    const answer = await answerConsent(visitor, await openConsent(visitor, port.url, email));
    expect(answer.leadsTo?.href).toContain('http://127.0.0.1:50123/callback?code=');
  });

  test.each([
    'http://evil.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://user@127.0.0.1/callback',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'https://app.example/callback#fragment',
    'mailto:a@evil.example',
    'callback',
  ])('%s cannot be registered', async (address) => {
    expect(await register({ redirect_uris: [address] })).toMatchObject({ status: 400 });
  });

  test.each([
    'https://claude.ai/api/mcp/auth_callback',
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'http://localhost:1/x',
  ])('%s can be registered', async (address) =>
    expect(await register({ redirect_uris: [address] })).toMatchObject({ status: 201 }),
  );
});

describe('registration', () => {
  test('takes a name and addresses, and fetches nothing that a stranger names', async () => {
    const { status, body } = await register({
      ...{
        client_id: 'gantry',
        client_secret: 'x',
        token_endpoint_auth_method: 'client_secret_basic',
        scope: 'openid',
      },
      ...{ application_type: 'web', sector_identifier_uri: 'http://127.0.0.1:1/x', jwks_uri: 'http://127.0.0.1:1/x' },
      ...{ logo_uri: 'https://evil.example/x.png', grant_types: ['authorization_code', 'client_credentials'] },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({ token_endpoint_auth_method: 'none', grant_types: ['authorization_code'] });
    expect(body.client_id).not.toBe('gantry');
    for (const name of [
      'client_secret',
      'scope',
      'sector_identifier_uri',
      'jwks_uri',
      'logo_uri',
      'registration_access_token',
    ])
      expect(body, name).not.toHaveProperty(name);
    expect(await register({ client_name: 'x'.repeat(101) })).toMatchObject({ status: 400 });
    expect(await register({ redirect_uris: Array.from({ length: 11 }, () => loopbackURI) })).toMatchObject({
      status: 400,
    });
    expect(await register({ redirect_uris: [] })).toMatchObject({ status: 400 });
  });

  test('is throttled by network, and of unused apps the oldest beyond a thousand are forgotten', async () => {
    const { pool } = deployment.cluster;
    const fetch = deployment.fetchFrom();
    const { app } = await connected();
    const first = await register({}, fetch);
    const statuses = [];
    for (let n = 0; n < 20; n += 1) statuses.push((await register({}, fetch)).status);
    expect(statuses).toEqual([...Array.from({ length: 19 }, () => 201), 429]);

    await pool.query(
      `insert into sign_in_record (kind, id, payload, expires_at)
       select 'Client', sha256(convert_to('made ' || n, 'UTF8')), '{}', now() + interval '1 hour' from generate_series(1, 1000) n`,
    );
    await register();
    const known = async (id: string) =>
      (
        await pool.query(
          "select expires_at > now() + interval '2 days' as stays from sign_in_record where kind = 'Client' and id = sha256(convert_to($1, 'UTF8'))",
          [id],
        )
      ).rows;
    expect(await known(first.body.client_id ?? '')).toEqual([]);
    expect(await known(app.clientID), 'one that is connected stays as long as its grant').toEqual([{ stays: true }]);
    const { rows } = await pool.query(
      "select count(*)::int from sign_in_record where kind = 'Client' and consumed_at is null",
    );
    expect(rows).toEqual([{ count: 1000 }]);
  });
});
