import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { rotateAllSecrets } from '#ops/rotate-all-secrets.ts';
import type { Permission } from '#shared/access/policy/permissions.ts';
import { newID } from '#shared/core/ids.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { REVOCATIONS_CHANNEL } from '#shared/messaging/oauth-revocations.ts';
import { readConfig } from '#shared/process/config.ts';
import { createConnectionRows } from '#workers/datasources/oauth/rows.ts';
import { type Browser, createBrowser, type Visit } from '../../../support/browser.ts';
import type { Answer, Client } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { publicURL, testLogger } from '../../../support/environment.ts';
import { aMember, anApiKey, aTenant, type TestTenant, type TestUser } from '../../../support/factories.ts';
import { connecting, denyingAccount, type OidcProvider, startOidcProvider } from '../../../support/oidc-provider.ts';
import { eventually } from '../../../support/settle.ts';

const ui = 'https://admin.example.com';
const ada = 'ada@example.com';
const callback = `${publicURL}/api/v1/oauth/acme/callback`;

let provider: OidcProvider;
let cluster: Cluster;
let tenant: TestTenant;
let api: Client;

beforeAll(async () => {
  provider = await startOidcProvider();
  const acme = {
    authorizationURL: `${provider.issuer}/auth`,
    tokenURL: `${provider.issuer}/token`,
    revocationURL: `${provider.issuer}/token/revocation`,
    issuer: provider.issuer,
    ...connecting,
    scopes: ['openid', 'email'],
    authorizationParams: { login_hint: 'anyone', state: 'no', client_id: 'no' },
  };
  const plain = { ...acme, issuer: undefined, revocationURL: undefined, scopes: [], clientSecret: 'wrong' };
  cluster = await startCluster({
    workers: 2,
    settings: {
      CORS_ORIGINS: `${ui},https://other.example.com`,
      OAUTH_PROVIDERS: JSON.stringify({ acme, plain, google: { clientID: 'g', clientSecret: 's' } }),
    },
  });
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});
beforeEach(async () => {
  provider.setAway(false);
  vi.useRealTimers();
  tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
});

const aBrowser = () => createBrowser({ [publicURL]: cluster.baseURL });

/** Requests the authorization URL as a page of the UI. */
async function begin(
  browser: Browser,
  { who = api, query = '', headers = {} }: { who?: Client; query?: string; headers?: Record<string, string> } = {},
): Promise<string> {
  const path = `/api/v1/oauth/acme/${tenant.id}/url${query}`;
  const { body, status, headers: received } = await who.get(path, { origin: ui, ...headers });
  expect({ status, body }).toMatchObject({ status: 200, body: { success: true } });
  browser.take(publicURL, received);
  return body.url;
}

interface Told {
  message: Record<string, string>;
  origin: string;
}

/** Message of the final page, and the origin that it is sent to. */
function told({ text }: Pick<Visit, 'text'>): Told {
  const read = (name: string) => {
    const [, value = ''] = new RegExp(`data-${name}="([^"]*)"`).exec(text) ?? [];
    return value.replace(/&#(\d+);/g, (_all, code) => String.fromCharCode(Number(code)));
  };
  return { message: JSON.parse(read('message')), origin: read('origin') };
}

async function connect(as = ada, query = ''): Promise<string> {
  const browser = aBrowser();
  const { message } = told(await browser.visit(await begin(browser, { query }), { as }));
  expect(message).toMatchObject({ type: 'OAUTH_SUCCESS' });
  return message.oauthConnectionID ?? '';
}

async function rowOf(id: string): Promise<Record<string, unknown>> {
  const { rows } = await cluster.pool.query('select * from oauth_connection where id = $1', [id]);
  return rows[0];
}

async function tokensOf(id: string): Promise<{ accessToken: string; refreshToken: string }> {
  const { tokens } = await rowOf(id);
  return JSON.parse(cluster.context.secrets.open(String(tokens), sealedColumns.oauthTokens.context(id)));
}

/** Makes the access token expire. */
async function expire(id: string, seconds = 1): Promise<void> {
  await cluster.pool.query(
    `update oauth_connection set refresh_at = now() - interval '1 hour', expires_at = now() - make_interval(secs => $2), refreshed_at = null where id = $1`,
    [id, seconds],
  );
}

const restOptions = (oauthConnectionID: string) => ({
  baseUrl: provider.issuer,
  authType: 'oauthConnection',
  oauthConnectionID,
});

async function aRestDatasource(oauthConnectionID: string): Promise<string> {
  const body = { datasourceTitle: 'API', datasourceType: 'restapi', datasourceOptions: restOptions(oauthConnectionID) };
  const answer = await api.post('T/datasources', body);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.datasource.id;
}

/** The account that the provider reports for the token. */
function whoAmI(datasourceID: string): Promise<Answer> {
  const dataQuery = { dataQueryTitle: 'Me', datasourceID, dataQueryOptions: { apiEndpoint: '/me' } };
  return api.patch('T/queries/queryTest', { dataQuery });
}

describe('an account', () => {
  test('is connected by a window that a page opens, and the page gets the result', async () => {
    const browser = aBrowser();
    const url = new URL(await begin(browser));
    const end = await browser.visit(url.href, { as: ada });

    expect(url.origin).toBe(provider.issuer);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: connecting.clientID,
      redirect_uri: callback,
      scope: 'openid email',
      code_challenge_method: 'S256',
      login_hint: 'anyone',
      nonce: expect.any(String),
    });
    const { message, origin } = told(end);
    expect({ status: end.status, origin, message }).toEqual({
      status: 200,
      origin: ui,
      message: {
        type: 'OAUTH_SUCCESS',
        provider: 'acme',
        oauthConnectionID: expect.any(String),
        vaultCredentialID: message.oauthConnectionID,
      },
    });
    const read = await api.get(`T/oauth-connections/${message.oauthConnectionID}`);
    expect(read.body.oauthConnection).toMatchObject({
      id: message.oauthConnectionID,
      tenantID: tenant.id,
      name: `acme - ${ada}`,
      provider: 'acme',
      accountSubject: ada,
      accountEmail: ada,
      scopes: ['openid', 'email'],
      status: 'connected',
      creatorID: tenant.creator.id,
    });
    expect((await api.get('T/oauth-connections?provider=acme')).body).toMatchObject({
      oauthConnections: [read.body.oauthConnection],
      totalCount: 1,
    });
    expect(await whoAmI(await aRestDatasource(message.oauthConnectionID ?? ''))).toMatchObject({
      status: 200,
      body: { dataQueryResult: { sub: ada } },
    });
  });

  test('is in the trail with what has connected it, and a refusal of the provider too', async () => {
    const id = await connect();
    const { rows } = await cluster.pool.query(
      `select e.action, e.user_id, e.details, c.action as change from audit_record c join audit_record e on e.id = c.entry_id
       where c.asset_id = $1 and e.kind = 'entry'`,
      [id],
    );
    const details = { request: { operation: 'finishOauth' } };
    expect(rows).toMatchObject([{ action: 'GET', user_id: tenant.creator.id, details, change: 'create' }]);
    const { url } = rows[0].details.request;
    expect([...new URL(url, publicURL).searchParams.values()]).toEqual(expect.arrayContaining(['[REDACTED]']));
    expect(url).toMatch(/[?&]code=\[REDACTED\]&/);

    const browser = aBrowser();
    expect(told(await browser.visit(await begin(browser), { as: denyingAccount })).message.type).toBe('OAUTH_FAILURE');
    await eventually(async () => {
      const { body } = await api.get('T/audit?path=/api/v1/oauth/acme/callback&status=failure');
      expect(body.auditLogs).toMatchObject([{ userID: tenant.creator.id, outcome: 'failure' }]);
    });
    const { body } = await api.get('T/audit?path=/api/v1/oauth/acme/callback&status=success');
    expect(body.auditLogs).toHaveLength(1);
  });

  test('is connected by a browser that is sent to the start route directly', async () => {
    const browser = aBrowser();
    const authorization = `Bearer ${await cluster.tokenFor(tenant.creator)}`;
    const headers = { authorization, referer: `${ui}/settings` };
    const start = `${publicURL}/api/v1/oauth/acme/auth/${tenant.id}`;

    const first = await cluster.as(tenant.creator).get(start.slice(publicURL.length));
    const end = await browser.visit(start, { as: ada, headers });

    expect(first.status).toBe(302);
    expect(first.headers.get('cross-origin-opener-policy')).toBe('unsafe-none');

    expect(told(end)).toMatchObject({ message: { type: 'OAUTH_SUCCESS' }, origin: ui });
  });

  test('is connected again under the same id', async () => {
    const id = await connect();
    const before = await tokensOf(id);

    expect(await connect('eve@example.com', `?oauthConnectionID=${id}`)).toBe(id);

    expect(await rowOf(id)).toMatchObject({ account_email: 'eve@example.com', generation: 2, status: 'connected' });
    expect((await tokensOf(id)).accessToken).not.toBe(before.accessToken);
    expect((await api.get('T/oauth-connections')).body.totalCount).toBe(1);
  });

  test('can be read by its owner, also by an API key of theirs, and not from another tenant', async () => {
    const key = await anApiKey(cluster, { tenant, can: ['datasource.update'] });
    const browser = aBrowser();
    const { message } = told(await browser.visit(await begin(browser, { who: cluster.withKey(key) }), { as: ada }));
    const id = message.oauthConnectionID ?? '';
    const other = await aTenant(cluster);
    const theirs = cluster.as(other.creator).in(other);
    const member = cluster.as(await aMember(cluster, { tenant, can: ['datasource.list'] })).in(tenant);

    expect(await rowOf(id)).toMatchObject({ creator_id: tenant.creator.id, created_by_api_key_id: key.id });
    expect((await cluster.withKey(key).in(tenant).get(`T/oauth-connections/${id}`)).status).toBe(200);
    expect((await theirs.get(`T/oauth-connections/${id}`)).status).toBe(404);
    expect((await theirs.delete(`T/oauth-connections/${id}`)).status).toBe(404);
    expect((await member.get('T/oauth-connections')).body.oauthConnections).toEqual([]);
    const path = `/api/v1/oauth/acme/${other.id}/url?oauthConnectionID=${id}`;
    expect((await cluster.as(other.creator).get(path)).status).toBe(404);
    const body = { datasourceType: 'restapi', datasourceOptions: restOptions(id) };
    expect(await theirs.post('T/datasources', { datasourceTitle: 'API', ...body })).toMatchObject({
      status: 400,
      body: { error: { message: /datasourceOptions.oauthConnectionID: there is no such/ } },
    });
    expect(await theirs.post('T/datasources/test', body)).toMatchObject({
      status: 404,
      body: { error: { message: 'OAuth connection not found' } },
    });
  });

  test('is not deleted while a datasource uses it, and its rules are deleted with it', async () => {
    const id = await connect();
    const datasourceID = await aRestDatasource(id);

    expect(await api.delete(`T/oauth-connections/${id}`)).toMatchObject({
      status: 409,
      body: { error: { code: 'CONFLICT', message: '1 datasource uses this connection' } },
    });
    await api.delete(`T/datasources/${datasourceID}`);
    expect((await api.delete(`T/oauth-connections/${id}`)).status).toBe(200);

    expect(await rowOf(id)).toBeUndefined();
    const rules = await cluster.pool.query('select from policy_rule where object = $1', [`datasource:${id}`]);
    expect(rules.rowCount).toBe(0);
  });
});

describe('the callback', () => {
  const failure = (error: string | RegExp) => ({
    type: 'OAUTH_FAILURE',
    error: typeof error === 'string' ? error : expect.stringMatching(error),
  });

  /** Visits everything but the last step. Answers with the address that the provider redirects the browser to. */
  async function almost(browser: Browser, as = ada): Promise<URL> {
    const { url } = await browser.visit(await begin(browser), { as, until: callback });
    return new URL(url);
  }

  test('reports that the user denied access', async () => {
    const browser = aBrowser();
    const back = await almost(browser, denyingAccount);

    const first = told(await browser.visit(back.href));
    const second = told(await browser.visit(back.href));

    expect(first).toEqual({ origin: ui, message: { ...failure('Access was denied at acme'), provider: 'acme' } });
    expect(second.message).toMatchObject(failure(/has been finished/));
  });

  test('works once', async () => {
    const browser = aBrowser();
    const back = await almost(browser);

    const answers = await Promise.all([browser.visit(back.href), browser.visit(back.href)]);
    const again = await browser.visit(back.href);

    expect(answers.map((answer) => told(answer).message.type).sort()).toEqual(['OAUTH_FAILURE', 'OAUTH_SUCCESS']);
    expect(told(again)).toMatchObject({ message: failure(/has been finished/), origin: ui });
    expect((await api.get('T/oauth-connections')).body.totalCount).toBe(1);
  });

  test('works only in the browser that began the flow, and other flows do not interfere', async () => {
    const [browser, other] = [aBrowser(), aBrowser()];
    const back = await almost(browser);
    const theirs = await almost(other);
    const cookies = aBrowser();
    // A cookie of another flow, stored under the name of this one, is refused too.
    const flow = (await cluster.pool.query<{ id: string }>('select id from oauth_flow order by id')).rows;
    cookies.take(publicURL, new Headers([['set-cookie', `gantry-oauth-${flow[0]?.id}=${newID()}; Path=/`]]));

    for (const stranger of [other, cookies])
      expect(told(await stranger.visit(back.href)).message).toMatchObject(failure(/did not begin in this browser/));
    expect(told(await browser.visit(back.href)).message.type).toBe('OAUTH_SUCCESS');

    const swapped = new URL(theirs);
    swapped.searchParams.set('code', (await almost(browser)).searchParams.get('code') ?? '');
    expect(told(await other.visit(swapped.href)).message).toMatchObject(failure(/refused the request: invalid_grant/));
  });

  test('needs a state that we issued, for this provider, at most ten minutes ago', async () => {
    const browser = aBrowser();
    const back = await almost(browser);
    const state = back.searchParams.get('state') ?? '';
    const flipped = `${state.slice(0, -3)}${state.at(-3) === 'A' ? 'B' : 'A'}${state.slice(-2)}`;

    for (const wrong of ['', 'x', flipped, cluster.context.secrets.seal('{}', 'another')]) {
      back.searchParams.set('state', wrong);
      const end = told(await browser.visit(back.href));
      expect(end).toMatchObject({ message: failure(/did not issue it/), origin: '' });
    }
    back.searchParams.delete('state');
    expect(told(await browser.visit(back.href)).message).toMatchObject(failure(/did not issue it/));
    back.searchParams.set('state', state);
    const elsewhere = back.href.replace('/acme/', '/google/');
    expect(told(await browser.visit(elsewhere)).message).toMatchObject(failure(/did not issue it/));
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 601_000 });
    expect(told(await browser.visit(back.href)).message).toMatchObject(failure(/more than ten minutes/));
  });

  test('is refused when the user is no longer a member', async () => {
    const user = await aMember(cluster, { tenant, can: ['datasource.update'] });
    const ways: { browser: Browser; back: URL }[] = [];
    for (const who of [user, user]) {
      const browser = aBrowser();
      const start = await begin(browser, { who: cluster.as(who) });
      ways.push({ browser, back: new URL((await browser.visit(start, { as: ada, until: callback })).url) });
    }
    await cluster.pool.query('delete from membership where user_id = $1', [user.id]);

    for (const { browser, back } of ways)
      expect(told(await browser.visit(back.href)).message).toMatchObject(failure('You are not allowed to do this'));
    expect((await api.get('T/oauth-connections')).body.totalCount).toBe(0);
  });

  test('shows a message when the provider is down or does not know this client', async () => {
    const browser = aBrowser();
    const back = await almost(browser);
    provider.setAway(true);
    const { message } = told(await browser.visit(back.href));
    provider.setAway(false);
    expect(message).toMatchObject(failure(/^(The connection to|Nothing answers at) 127\.0\.0\.1/));

    const start = await api.get(`/api/v1/oauth/plain/${tenant.id}/url`, { origin: ui });
    browser.take(publicURL, start.headers);
    const state = new URL(start.body.url).searchParams.get('state') ?? '';
    const end = await browser.visit(
      `${publicURL}/api/v1/oauth/plain/callback?code=x&state=${encodeURIComponent(state)}`,
    );
    expect(told(end).message).toMatchObject(failure(/does not accept the client/));
  });

  test('does not repeat any text of its URL', async () => {
    const browser = aBrowser();
    const back = await almost(browser);
    back.searchParams.delete('code');
    back.searchParams.set('error', '</script><script>alert(1)</script>');
    back.searchParams.set('error_description', 'call 555-1234');

    const { text } = await browser.visit(back.href);

    expect(told({ text }).message).toMatchObject(failure('acme says no'));
    expect(text).not.toMatch(/alert|555/);
  });

  test('is a page that runs one fixed script, is not cached and cannot be framed', async () => {
    const { headers, text } = await aBrowser().visit(callback);

    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; /);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('cross-origin-opener-policy')).toBe('unsafe-none');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    const [, script = ''] = /<script>([\s\S]*)<\/script>/.exec(text) ?? [];
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(script));
    expect(policy).toContain(Buffer.from(digest).toString('base64'));
    expect(text).not.toContain("'*'");
  });
});

describe('the start', () => {
  const start = (path: string, headers: Record<string, string> = {}, who: TestUser = tenant.creator) =>
    cluster.as(who).get(path, headers);
  const originOf = async (headers: Record<string, string>) => {
    const browser = aBrowser();
    const answer = await start(`/api/v1/oauth/acme/${tenant.id}/url`, headers);
    browser.take(publicURL, answer.headers);
    return told(await browser.visit(answer.body.url, { as: ada })).origin;
  };

  test.each<[string, Record<string, string>, string]>([
    ['a listed page', { origin: 'https://other.example.com' }, 'https://other.example.com'],
    ['a link on a listed page', { referer: `${ui}/a?b` }, ui],
    ['a page of our own origin', { 'sec-fetch-site': 'same-origin' }, publicURL],
    ['an unlisted page', { origin: 'https://evil.example.com', referer: ui }, ''],
    ['a page in a sandbox', { origin: 'null' }, ''],
    ['no page', {}, ''],
  ])('from %s sends the result to the origin of that page, or to no page', async (_what, headers, expected) => {
    expect(await originOf(headers)).toBe(expected);
  });

  test('sets one cookie for the callback and no other', async () => {
    const path = `/api/v1/oauth/acme/${tenant.id}/url`;
    const [near, far] = [
      await start(path, { 'sec-fetch-site': 'same-site' }),
      await start(path, { 'sec-fetch-site': 'cross-site' }),
    ];

    for (const [answer, sameSite] of [
      [near, 'Lax'],
      [far, 'None'],
    ] as const)
      expect(answer.headers.getSetCookie()).toEqual([
        expect.stringMatching(
          new RegExp(
            `^gantry-oauth-[\\w-]{36}=[\\w-]{43}; Max-Age=600; Path=/api/v1/oauth/acme/callback; Expires=[^;]+; HttpOnly; Secure; SameSite=${sameSite}$`,
          ),
        ),
      ]);
    expect(near.headers.get('cache-control')).toBe('no-store');
  });

  test('takes the redirect URI from the configuration and not from headers', async () => {
    const headers = { host: 'evil.example.com', 'x-forwarded-host': 'evil.example.com', 'x-forwarded-proto': 'http' };
    const { body } = await start(`/api/v1/oauth/acme/${tenant.id}/url`, headers);
    expect(new URL(body.url).searchParams.get('redirect_uri')).toBe(callback);
  });

  test('names the configured providers when the requested one is unknown', async () => {
    for (const path of [`auth/${tenant.id}`, `${tenant.id}/url`])
      expect(await start(`/api/v1/oauth/github/${path}`)).toMatchObject({
        status: 404,
        body: { error: { code: 'NOT_FOUND', message: /"github" here: there are acme, plain, google$/ } },
      });
    expect((await start('/api/v1/oauth/github/callback')).status).toBe(404);
  });

  test('requires the permission to update datasources, all of them or this one', async () => {
    const id = await connect();
    const rules = [{ object: `datasource:${id}`, action: 'update' }];
    const [reader, renewer] = [
      await aMember(cluster, { tenant, can: ['datasource.read', 'datasource.create'] }),
      await aMember(cluster, { tenant, rules }),
    ];
    const path = `/api/v1/oauth/acme/${tenant.id}/url`;

    expect((await start(path, {}, reader)).status).toBe(403);
    expect((await start(path, {}, renewer)).status).toBe(403);
    expect((await start(`${path}?oauthConnectionID=${id}`, {}, renewer)).status).toBe(200);
    expect(await start(`/api/v1/oauth/google/${tenant.id}/url?oauthConnectionID=${id}`)).toMatchObject({
      status: 400,
      body: { error: { message: 'oauthConnectionID: is a connection to acme' } },
    });
  });

  test('supports Google by name', async () => {
    const { body } = await start(`/api/v1/oauth/google/${tenant.id}/url`);
    const url = new URL(body.url);
    expect(url.origin + url.pathname).toBe('https://accounts.google.com/o/oauth2/v2/auth');
    expect(Object.fromEntries(url.searchParams)).toMatchObject({ access_type: 'offline', prompt: 'consent' });
  });
});

describe('a token', () => {
  let id: string;
  let datasourceID: string;
  beforeEach(async () => {
    id = await connect();
    datasourceID = await aRestDatasource(id);
  });

  test('is refreshed before it expires, once, by many requests in several workers', async () => {
    const before = await tokensOf(id);
    await expire(id);
    const count = provider.refreshes;

    const answers = await Promise.all(Array.from({ length: 20 }, () => whoAmI(datasourceID)));

    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(provider.refreshes).toBe(count + 1);
    const after = await tokensOf(id);
    expect(after.accessToken).not.toBe(before.accessToken);
    // The provider rotates refresh tokens, and revokes all when an old one is used.
    expect(after.refreshToken).not.toBe(before.refreshToken);
    expect(await rowOf(id)).toMatchObject({ generation: 2, refresh_claim: null, status: 'connected' });
    await expire(id);
    expect((await whoAmI(datasourceID)).status).toBe(200);
    expect(provider.refreshes).toBe(count + 2);
  });

  test('that the API refuses is refreshed, and one refused again is not', async () => {
    const { accessToken } = await tokensOf(id);
    await provider.forget(accessToken);
    const count = provider.refreshes;

    expect(await whoAmI(datasourceID)).toMatchObject({ status: 200, body: { dataQueryResult: { sub: ada } } });
    expect(provider.refreshes).toBe(count + 1);

    await provider.forget((await tokensOf(id)).accessToken);
    expect(await whoAmI(datasourceID)).toMatchObject({
      status: 502,
      body: { error: { message: `The API does not accept the OAuth connection to acme (${ada})` } },
    });
    expect(provider.refreshes).toBe(count + 1);
    expect(await rowOf(id)).toMatchObject({ status: 'connected' });
  });

  test('whose refresh is refused breaks the connection until a user connects it again', async () => {
    await provider.revoke((await tokensOf(id)).refreshToken);
    await expire(id);

    for (const answer of [await whoAmI(datasourceID), await whoAmI(datasourceID)])
      expect(answer).toMatchObject({
        status: 502,
        body: {
          error: {
            code: 'UPSTREAM_FAILED',
            message: `The OAuth connection to acme (${ada}) has ended: connect it again`,
            details: { reason: 'reconnect', oauthConnectionID: id },
          },
        },
      });
    expect(await shown(id)).toMatchObject({ status: 'broken', lastError: expect.stringMatching(/: invalid_grant$/) });
    const notification = {
      kind: 'connectionStopped',
      subjectID: id,
      title: `acme (${ada}) must be connected again`,
      description: expect.stringMatching(/refused the request: invalid_grant$/),
      action: `../tenants/${tenant.id}/oauth-connections/${id}`,
    };
    expect(await toldCreator()).toMatchObject([{ ...notification, readAt: null }]);

    await connect(ada, `?oauthConnectionID=${id}`);
    expect((await whoAmI(datasourceID)).status).toBe(200);
    expect(await shown(id)).toMatchObject({ status: 'connected', lastError: null });
    expect(await toldCreator()).toMatchObject([{ ...notification, readAt: expect.any(String) }]);
  });

  const shown = async (id: string) => (await api.get(`T/oauth-connections/${id}`)).body.oauthConnection;
  const toldCreator = async () => (await cluster.as(tenant.creator).get('/api/v1/notifications')).body.notifications;

  test('that could not be refreshed for ten minutes is shown as failing until it can be refreshed', async () => {
    await using other = await startOidcProvider();
    await api.patch(`T/datasources/${datasourceID}`, {
      datasourceOptions: { ...restOptions(id), baseUrl: other.issuer },
    });
    const dataQuery = { dataQueryTitle: 'Q', datasourceID, dataQueryOptions: { apiEndpoint: '/jwks' } };
    const ask = () => api.patch('T/queries/queryTest', { dataQuery });
    provider.setAway(true);

    await expire(id, 60);
    await ask();
    expect(await shown(id)).toMatchObject({ status: 'connected', lastError: expect.stringMatching(/127\.0\.0\.1/) });
    expect(await toldCreator()).toEqual([]);
    await expire(id, 601);
    await ask();
    await ask();
    expect(await shown(id)).toMatchObject({ status: 'failing' });
    expect(await toldCreator()).toMatchObject([
      { kind: 'connectionStopped', subjectID: id, title: `acme (${ada}) cannot be refreshed` },
    ]);

    provider.setAway(false);
    expect((await ask()).status).toBe(200);
    expect(await shown(id)).toMatchObject({ status: 'connected', lastError: null });
    expect(await toldCreator()).toMatchObject([{ readAt: expect.any(String) }]);
  });

  test('is used until it expires while the provider is down, and then the error says so', async () => {
    await using other = await startOidcProvider();
    await api.patch(`T/datasources/${datasourceID}`, {
      datasourceOptions: { ...restOptions(id), baseUrl: other.issuer },
    });
    const dataQuery = { dataQueryTitle: 'Q', datasourceID, dataQueryOptions: { apiEndpoint: '/jwks' } };
    const ask = () => api.patch('T/queries/queryTest', { dataQuery });
    provider.setAway(true);

    await expire(id, -30);
    expect((await ask()).status).toBe(200);
    await expire(id);
    expect(await ask()).toMatchObject({ status: 502, body: { error: { message: /127\.0\.0\.1/ } } });
    expect(await rowOf(id)).toMatchObject({ status: 'connected', refresh_claim: null });

    provider.setAway(false);
    expect((await ask()).status).toBe(200);
  });

  test('is refreshed by the worker that has claimed it, unless that worker has died', async () => {
    const claim = (seconds: number) =>
      cluster.pool.query(
        `update oauth_connection set refresh_claim = $2, refresh_until = now() + make_interval(secs => $3) where id = $1`,
        [id, newID(), seconds],
      );
    await expire(id);
    await claim(1);
    const [count, started] = [provider.refreshes, performance.now()];

    expect((await whoAmI(datasourceID)).status).toBe(200);

    expect(performance.now() - started).toBeGreaterThan(800);
    expect(provider.refreshes).toBe(count + 1);
    await expire(id, -30);
    await claim(60);
    expect((await whoAmI(datasourceID)).status).toBe(200);
    expect(provider.refreshes).toBe(count + 1);
  });

  test('that arrives after the account was connected again is dropped', async () => {
    const rows = createConnectionRows(cluster.pool, testLogger);
    const stored = await rows.read(tenant.id, id);
    const claim = await rows.claim(stored, newID());
    expect(claim).toBeDefined();
    await connect('eve@example.com', `?oauthConnectionID=${id}`);
    const before = await rowOf(id);

    if (claim) await rows.store(claim, stored, { tokens: 'old', expiresAt: null, refreshAt: null, scopes: null });

    expect(await rowOf(id)).toEqual(before);
  });

  test('that cannot be stored is stored on a later attempt', async () => {
    const rows = createConnectionRows(cluster.pool, testLogger);
    const before = await rows.read(tenant.id, id);
    const claim = await rows.claim(before, newID());
    await cluster.pool.query('alter table oauth_connection rename to oauth_connection_away');
    const stored =
      claim && rows.store(claim, before, { tokens: 'new', expiresAt: null, refreshAt: null, scopes: ['a'] });
    await cluster.pool.query('select pg_sleep(0.2)');
    await cluster.pool.query('alter table oauth_connection_away rename to oauth_connection');

    await stored;

    expect(await rowOf(id)).toMatchObject({ tokens: 'new', scopes: ['a'], generation: 2, refresh_claim: null });
    await cluster.pool.query('delete from oauth_connection where id = $1', [id]);
  });

  test('without a refresh token is used until it expires', async () => {
    const { accessToken } = await tokensOf(id);
    const tokens = cluster.context.secrets.seal(
      JSON.stringify({ accessToken, refreshToken: null }),
      sealedColumns.oauthTokens.context(id),
    );
    await cluster.pool.query('update oauth_connection set tokens = $2 where id = $1', [id, tokens]);

    await expire(id, -30);
    expect((await whoAmI(datasourceID)).status).toBe(200);
    await expire(id);
    expect(await whoAmI(datasourceID)).toMatchObject({ status: 502, body: { error: { message: /connect it again/ } } });
    expect(await shown(id)).toMatchObject({ status: 'broken', lastError: expect.stringMatching(/no refresh token/) });
    expect(await toldCreator()).toMatchObject([{ kind: 'connectionStopped', subjectID: id }]);
  });

  test('is sent only to the hosts of its provider', async () => {
    await cluster.pool.query(`update oauth_connection set provider = 'google' where id = $1`, [id]);
    expect(await whoAmI(datasourceID)).toMatchObject({
      status: 400,
      body: { error: { message: /a connection to google is for googleapis.com only, with https/ } },
    });
  });

  test('is not sent to an address given by a caller who may only test datasources', async () => {
    const body = { datasourceType: 'restapi', datasourceOptions: restOptions(id) };
    const as = async (can: Permission[]) => cluster.as(await aMember(cluster, { tenant, can })).in(tenant);

    expect((await (await as(['datasource.test'])).post('T/datasources/test', body)).status).toBe(403);
    expect((await (await as(['datasource.test', 'datasource.create'])).post('T/datasources/test', body)).status).toBe(
      200,
    );
  });

  test('needs a connection that the datasource names', async () => {
    const { oauthConnectionID, ...without } = restOptions(id);
    const body = { datasourceTitle: 'API', datasourceType: 'restapi', datasourceOptions: without };
    for (const path of ['T/datasources', 'T/datasources/test'])
      expect(await api.post(path, body)).toMatchObject({
        status: 400,
        body: { error: { message: /datasourceOptions.oauthConnectionID: is/ } },
      });
    expect((await api.post(`T/datasources/${datasourceID}/test`)).status).toBe(200);
    expect(oauthConnectionID).toBe(id);
  });

  test('is encrypted again when the key of the deployment changes', async () => {
    const { SECRETS_KEYS = '' } = cluster.env;
    const { keys } = readConfig({
      ...cluster.env,
      SECRETS_KEYS: `next:${Buffer.alloc(32, 9).toString('base64')},${SECRETS_KEYS}`,
    }).secrets;
    const before = await tokensOf(id);

    const { failed } = await rotateAllSecrets(cluster.pool, { secrets: createKeyRing(keys), logger: testLogger });

    const { tokens } = await rowOf(id);
    const onlyNext = createKeyRing(keys.slice(0, 1));
    expect(failed).toBe(0);
    expect(JSON.parse(onlyNext.open(String(tokens), sealedColumns.oauthTokens.context(id)))).toEqual(before);
  });
});

describe('tokens that no connection has any more', () => {
  /** Another connection of the same account would keep them valid. */
  let account: string;
  beforeEach(() => {
    account = `${newID()}@example.com`;
  });

  const waiting = async () =>
    (await cluster.pool.query('select * from oauth_revocation where tenant_id = $1', [tenant.id])).rows;

  async function revoked(tokens: Awaited<ReturnType<typeof tokensOf>>): Promise<void> {
    await eventually(async () => expect([await provider.valid(tokens), await waiting()]).toEqual([[], []]));
  }

  const both = ['accessToken', 'refreshToken'];

  test('are revoked at the provider when their connection is deleted', async () => {
    const id = await connect(account);
    const tokens = await tokensOf(id);
    expect(await provider.valid(tokens)).toEqual(both);

    expect((await api.delete(`T/oauth-connections/${id}`)).status).toBe(200);

    await revoked(tokens);
  });

  test('are revoked when their tenant is deleted', async () => {
    const tokens = await tokensOf(await connect(account));

    expect((await api.delete('T/')).status).toBe(200);

    await revoked(tokens);
  });

  test('are kept sealed while the provider is away, and revoked when it is back', async () => {
    const id = await connect(account);
    const tokens = await tokensOf(id);
    provider.setAway(true);

    expect((await api.delete(`T/oauth-connections/${id}`)).status).toBe(200);
    await eventually(async () => {
      const [row] = await waiting();
      expect(row).toMatchObject({ attempts: 1, provider: 'acme', account_email: account });
      // The first pause.
      expect(row.ready_at - Date.now()).toBeLessThan(6_000);
      expect(JSON.parse(cluster.context.secrets.open(row.tokens, sealedColumns.revocationTokens.context(id)))).toEqual(
        tokens,
      );
    });

    provider.setAway(false);
    expect(await provider.valid(tokens)).toEqual(both);
    await makeDue();
    await revoked(tokens);
  });

  /** Waits for the end of an attempt. Its claim counts it already, but lasts for a minute and not for a pause. */
  async function postponed(): Promise<void> {
    await eventually(async () => {
      const [row] = await waiting();
      expect(row.attempts).toBeGreaterThan(0);
      expect(row.ready_at - Date.now()).toBeLessThan(30_000);
    });
  }

  /** Makes the workers try again at once. */
  async function makeDue(): Promise<void> {
    await cluster.pool.query('update oauth_revocation set ready_at = now() where tenant_id = $1', [tenant.id]);
    await cluster.context.messaging.backplane.messages.publish(REVOCATIONS_CHANNEL, {});
  }

  test('are given up after three days, and the creator of the connection is told', async () => {
    const id = await connect(account);
    provider.setAway(true);
    await api.delete(`T/oauth-connections/${id}`);
    await postponed();

    await cluster.pool.query('update oauth_revocation set attempts = 79 where tenant_id = $1', [tenant.id]);
    await makeDue();

    await eventually(async () => expect(await waiting()).toEqual([]));
    expect((await cluster.as(tenant.creator).get('/api/v1/notifications')).body.notifications).toMatchObject([
      {
        kind: 'connectionNotRevoked',
        tenantID: tenant.id,
        subjectID: id,
        title: `Remove the access at acme (${account})`,
        description: expect.stringMatching(/could not be ended at the provider: .*127\.0\.0\.1/),
      },
    ]);
  });

  test('are revoked once, by one of several workers', async () => {
    const id = await connect(account);
    const tokens = await tokensOf(id);
    provider.setAway(true);
    await api.delete(`T/oauth-connections/${id}`);
    await postponed();
    provider.setAway(false);
    const count = provider.revocations;

    await makeDue();
    await Promise.all(
      Array.from({ length: 5 }, () => cluster.context.messaging.backplane.messages.publish(REVOCATIONS_CHANNEL, {})),
    );
    await revoked(tokens);

    // The refresh token and the access token.
    expect(provider.revocations - count).toBe(2);
  });

  test('stay valid as long as another connection has the account', async () => {
    const [first, second] = [await connect(account), await connect(account)];
    const other = await tokensOf(second);
    const datasourceID = await aRestDatasource(second);
    const count = provider.revocations;

    await api.delete(`T/oauth-connections/${first}`);
    await eventually(async () => expect(await waiting()).toEqual([]));

    expect(provider.revocations).toBe(count);
    expect((await whoAmI(datasourceID)).status).toBe(200);
    await api.delete(`T/datasources/${datasourceID}`);
    await api.delete(`T/oauth-connections/${second}`);
    await revoked(other);
  });

  test('are revoked when their connection gets another account, and not when it gets the same again', async () => {
    const id = await connect(account);
    const first = await tokensOf(id);
    await connect(account, `?oauthConnectionID=${id}`);
    expect([await waiting(), await provider.valid(first)]).toEqual([[], both]);
    const second = await tokensOf(id);

    await connect(`other-${account}`, `?oauthConnectionID=${id}`);

    await revoked(second);
    expect(await provider.valid(await tokensOf(id))).toEqual(both);
  });

  test('are revoked when their connection could not be stored', async () => {
    await cluster.pool.query(`insert into quota (owner_id, name, max) values ($1, 'oauthConnections', 0)`, [tenant.id]);
    const browser = aBrowser();
    const count = provider.revocations;

    const { message } = told(await browser.visit(await begin(browser), { as: account }));

    expect(message).toMatchObject({ type: 'OAUTH_FAILURE', error: expect.stringMatching(/OAuth connections/) });
    await eventually(async () => expect([provider.revocations - count, await waiting()]).toEqual([2, []]));
  });

  test('are revoked when a refresh ends after the deletion', async () => {
    const id = await connect(account);
    const rows = createConnectionRows(cluster.pool, testLogger);
    const stored = await rows.read(tenant.id, id);
    const claim = await rows.claim(stored, newID());
    await api.delete(`T/oauth-connections/${id}`);
    await eventually(async () => expect(await waiting()).toEqual([]));
    provider.setAway(true);

    if (claim)
      await rows.store(claim, stored, { tokens: stored.tokens, expiresAt: null, refreshAt: null, scopes: null });

    expect(await waiting()).toMatchObject([{ oauth_connection_id: id, provider: 'acme', account_subject: account }]);
    await cluster.pool.query('delete from oauth_revocation where tenant_id = $1', [tenant.id]);
  });

  test.each(['plain', 'gone'])('of the provider "%s", which cannot revoke them, are forgotten', async (name) => {
    const id = await connect(account);
    await cluster.pool.query('update oauth_connection set provider = $2 where id = $1', [id, name]);
    const count = provider.revocations;

    await api.delete(`T/oauth-connections/${id}`);

    await eventually(async () => expect(await waiting()).toEqual([]));
    expect(provider.revocations).toBe(count);
    const { notifications } = (await cluster.as(tenant.creator).get('/api/v1/notifications')).body;
    expect(notifications.map(({ title }: { title: string }) => title)).toEqual(
      // The deployment has lost its client there, and only the person can end the access.
      name === 'gone' ? [`Remove the access at gone (${account})`] : [],
    );
  });
});
