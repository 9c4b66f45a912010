import { expect, test, vi } from 'vitest';
import { warnOfBypass } from '#api/auth/test-bypass.ts';
import { readConfig } from '#shared/process/config.ts';
import { createClient } from '#test/support/client.ts';
import { startCluster } from '#test/support/cluster.ts';
import { testLogger } from '#test/support/environment.ts';
import { openSocket } from '#test/support/socket.ts';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test('accepts an address as a token, and verifies every other token', async () => {
  await using cluster = await startCluster({ workers: false, settings: { AUTH_TEST_BYPASS: 'true' } });
  const as = (token: string) => createClient(cluster.baseURL, async () => bearer(token)).get('/api/v1/auth');

  expect(await as('test:Ada@example.com')).toMatchObject({ status: 200 });
  expect(await as('test:ada@example.com')).toMatchObject({ status: 200 });
  await using socket = await openSocket(cluster.baseURL, 'test:ada@example.com');
  expect(socket.raw.connected).toBe(true);
  expect(await as(await cluster.tokenFor({ email: 'ada@example.com' }))).toMatchObject({ status: 200 });
  const { rows } = await cluster.pool.query('select issuer, subject from app_user order by issuer');
  expect(rows).toEqual([
    { issuer: 'urn:gantry:development', subject: expect.any(String) },
    { issuer: 'urn:gantry:test-bypass', subject: 'ada@example.com' },
  ]);

  for (const token of ['test:', 'test:ada', 'test:a@b', 'TEST:ada@example.com', 'ada@example.com', 'x.y.z']) {
    const refused = { status: 401, body: { error: { code: 'USER_AUTH_TOKEN_NOT_FOUND' } } };
    expect(await as(token), token).toMatchObject(refused);
  }

  await cluster.pool.query('update app_user set is_disabled = true');
  expect(await as('test:ada@example.com')).toMatchObject({ status: 401 });
});

test('is off by default', async () => {
  await using cluster = await startCluster({ workers: false });
  const client = createClient(cluster.baseURL, async () => bearer('test:ada@example.com'));

  expect(await client.get('/api/v1/auth')).toMatchObject({ status: 401 });
  await expect(openSocket(cluster.baseURL, 'test:ada@example.com')).rejects.toThrow();
  expect((await cluster.pool.query('select from app_user')).rowCount).toBe(0);
});

test('prevents a start in production', () => {
  const env = {
    DATABASE_URL: 'postgres://x/y',
    AUTH_ISSUER: 'https://id.example.com',
    AUTH_AUDIENCE: 'gantry',
    SECRETS_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  };

  expect(readConfig({ ...env, AUTH_TEST_BYPASS: 'true' }).auth.testBypass).toBe(true);
  expect(readConfig({ ...env, NODE_ENV: 'production', AUTH_TEST_BYPASS: 'false' }).auth.testBypass).toBe(false);
  for (const yes of ['true', '1', 'yes'])
    expect(() => readConfig({ ...env, NODE_ENV: 'production', AUTH_TEST_BYPASS: yes })).toThrow(/AUTH_TEST_BYPASS/);
  expect(() => readConfig({ ...env, AUTH_TEST_BYPASS: 'maybe' })).toThrow(/AUTH_TEST_BYPASS/);
});

test.each(['AUTH_ISSUER', 'AUTH_JWKS_URL'])(
  'the keys of tokens are not fetched over http in production: %s',
  (name) => {
    const env = {
      DATABASE_URL: 'postgres://x/y',
      AUTH_ISSUER: 'https://id.example.com',
      AUTH_JWKS_URL: 'https://id.example.com/keys',
      AUTH_AUDIENCE: 'gantry',
      SECRETS_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
    };
    const plain = { ...env, [name]: 'http://id.example.com/' };

    expect(readConfig(plain).production).toBe(false);
    expect(readConfig({ ...env, NODE_ENV: 'production' }).production).toBe(true);
    expect(() => readConfig({ ...plain, NODE_ENV: 'production' })).toThrow(`${name} must begin with https://`);
  },
);

test('is logged at the start and every minute', () => {
  vi.useFakeTimers();
  const warn = vi.spyOn(testLogger, 'warn');
  try {
    using _warnings = warnOfBypass(testLogger);
    expect(warn).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(180_000);
    expect(warn).toHaveBeenCalledTimes(4);
    expect(warn).toHaveBeenLastCalledWith(expect.stringContaining('AUTH_TEST_BYPASS'));
  } finally {
    warn.mockRestore();
    vi.useRealTimers();
  }
});
