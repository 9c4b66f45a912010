import { decodeProtectedHeader, SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createClient } from '#test/support/client.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aTenant } from '#test/support/factories.ts';
import { type OidcProvider, startOidcProvider } from '#test/support/oidc-provider.ts';
import { openSocket } from '#test/support/socket.ts';

const ada = { email: 'ada@example.com' };

describe('users of a real OpenID Connect provider', () => {
  let provider: OidcProvider;
  let cluster: Cluster;
  beforeEach(async () => {
    provider = await startOidcProvider();
    cluster = await startCluster({
      workers: false,
      settings: { DEV_ISSUER_KEY_FILE: '', AUTH_ISSUER: provider.issuer, AUTH_AUDIENCE: 'gantry' },
    });
  });
  afterEach(async () => {
    vi.useRealTimers();
    await cluster[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
  });

  const withToken = (token: string) =>
    createClient(cluster.baseURL, async () => ({ authorization: `Bearer ${token}` }));
  const ask = (token: string) => withToken(token).get('/api/v1/auth');

  /** Checks over HTTP and over a socket, which must reject with the same code. */
  async function expectRefused(token: string, code = 'USER_AUTH_TOKEN_NOT_FOUND'): Promise<void> {
    const answer = await ask(token);
    expect(answer).toMatchObject({
      status: code === 'UNAVAILABLE' ? 503 : 401,
      body: { success: false, error: { code } },
    });
    await expect(openSocket(cluster.baseURL, token)).rejects.toMatchObject({ data: { code } });
  }

  async function expectWelcome(token: string): Promise<void> {
    expect(await ask(token)).toMatchObject({ status: 200 });
    await using socket = await openSocket(cluster.baseURL, token);
    expect(socket.raw.connected).toBe(true);
  }

  function tick(seconds: number): void {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + seconds * 1_000 });
  }

  test('are the same user at the next sign-in', async () => {
    const [first, second] = [await provider.signIn(ada), await provider.signIn(ada)];
    await expectWelcome(first);
    await expectWelcome(second);

    const { rows } = await cluster.pool.query('select issuer, subject, email, first_name from app_user');
    expect(rows).toEqual([{ issuer: provider.issuer, subject: ada.email, email: ada.email, first_name: 'ada' }]);
    expect(provider.keyRequests).toBe(1);
  });

  test('are refused with a token for another audience', async () => {
    await expectRefused(await provider.signIn(ada, { client: 'elsewhere' }));
  });

  test('are refused with a token of another provider', async () => {
    await expectWelcome(await provider.signIn(ada));
    await using other = await startOidcProvider();

    await expectRefused(await other.signIn(ada));
  });

  test('are refused with a token that is signed with a shared secret or not signed', async () => {
    const good = await provider.signIn(ada);
    await expectWelcome(good);
    const [, body = ''] = good.split('.');
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const jwks = await (await fetch(`${provider.issuer}/jwks`)).text();
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
    const { kid = '' } = decodeProtectedHeader(good);

    const itsOwn = await provider.signIn(ada, { client: 'shared-secret' });
    expect(decodeProtectedHeader(itsOwn).alg).toBe('HS256');
    await expectRefused(itsOwn);
    for (const secret of [jwks, JSON.stringify(JSON.parse(jwks).keys[0])])
      await expectRefused(
        await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid }).sign(new TextEncoder().encode(secret)),
      );
    for (const alg of ['none', 'None', 'NONE']) await expectRefused(`${encode({ alg, kid })}.${body}.`);
  });

  test('are expired ten minutes later, with half a minute of skew allowed', async () => {
    const token = await provider.signIn(ada);
    tick(620);
    await expectWelcome(token);

    tick(15);
    await expectRefused(token, 'USER_AUTH_TOKEN_EXPIRED');
  });

  test('are accepted when the clock of the provider is a little ahead', async () => {
    tick(20);
    const token = await provider.signIn(ada);
    vi.useRealTimers();

    await expectWelcome(token);
  });

  test('stay signed in during a key rotation: many requests fetch the new key once', async () => {
    const before = await provider.signIn(ada);
    await expectWelcome(before);
    await provider.rotate();
    tick(60);
    const after = await Promise.all(
      Array.from({ length: 10 }, (_, n) => provider.signIn({ email: `p${n}@example.com` })),
    );
    expect(decodeProtectedHeader(after[0] ?? '').kid).not.toBe(decodeProtectedHeader(before).kid);

    const answers = await Promise.all(after.map(ask));

    expect(answers.map(({ status }) => status)).toEqual(after.map(() => 200));
    expect(provider.keyRequests).toBe(2);
    await expectWelcome(before);
  });

  test('with unknown keys cause a fetch of the keys once in a while, not with each request', async () => {
    const good = await provider.signIn(ada);
    await expectWelcome(good);
    const [, body, signature] = good.split('.');
    const forged = (n: number) =>
      `${Buffer.from(JSON.stringify({ alg: 'RS256', kid: `made-up-${n}` })).toString('base64url')}.${body}.${signature}`;
    tick(60);

    for (let n = 0; n < 10; n += 1) await expectRefused(forged(n));

    expect(provider.keyRequests).toBe(2);
    await expectWelcome(good);
  });

  test('are refused once their key is withdrawn', async () => {
    const token = await provider.signIn(ada);
    await expectWelcome(token);
    await provider.rotate({ withdraw: true });
    // A token of the new key makes us fetch the keys.
    tick(60);
    await expectWelcome(await provider.signIn({ email: 'ben@example.com' }));

    // An accepted token is cached for a minute.
    tick(61);
    await expectRefused(token);
  });

  test('are accepted with cached keys while the keys cannot be fetched', async () => {
    const token = await provider.signIn(ada);
    await expectWelcome(token);
    provider.setKeysAway(true);

    tick(120);
    await expectWelcome(token);
    await expectWelcome(await provider.signIn({ email: 'ben@example.com' }));

    await provider.rotate();
    const next = await provider.signIn(ada);
    const asked = provider.keyRequests;
    for (let n = 0; n < 5; n += 1) await expectRefused(next, 'UNAVAILABLE');
    expect(provider.keyRequests).toBe(asked + 1);
    await expectWelcome(token);

    provider.setKeysAway(false);
    tick(60);
    await expectWelcome(next);
  });

  test('are rejected with the next request once they are blocked, and their sockets are closed', async () => {
    const token = await provider.signIn(ada);
    await expectWelcome(token);
    const { rows } = await cluster.pool.query<{ id: string }>('select id from app_user');
    const creator = { ...ada, id: rows[0]?.id ?? '' };
    const tenant = await aTenant(cluster, { creator });
    expect((await withToken(token).get(`/api/v1/tenants/${tenant.id}/workflows`)).status).toBe(200);
    await using open = await openSocket(cluster.baseURL, token);

    await cluster.pool.query('update app_user set is_disabled = true where id = $1', [creator.id]);

    await expectRefused(token);
    expect((await withToken(token).get(`/api/v1/tenants/${tenant.id}/workflows`)).status).toBe(401);
    expect(await open.ask('workflow_run_join', { instanceID: tenant.id })).toMatchObject({ success: false });
    await expectRefused(await provider.signIn(ada));
  });
});
