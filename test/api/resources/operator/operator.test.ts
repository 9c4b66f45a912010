import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { Answer } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { anOperator, type TestOperator } from '../../../support/factories.ts';

const LOGIN = '/api/v1/operator/auth/login';
const ME = '/api/v1/operator/auth/me';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: false, apis: 2, settings: { TRUSTED_PROXIES: 'loopback' } });
});
afterAll(() => cluster[Symbol.asyncDispose]());

let addresses = 0;
/** A client address that was not used before. */
function anAddress(): string {
  addresses += 1;
  return `198.51.${Math.floor(addresses / 250)}.${(addresses % 250) + 1}`;
}

function login(
  { email, password }: { email: string; password: string },
  { from = anAddress(), api = 0 }: { from?: string; api?: number } = {},
): Promise<Answer> {
  const baseURL = cluster.apis[api]?.baseURL ?? '';
  return cluster.as(undefined, { baseURL }).post(LOGIN, { email, password }, { 'x-forwarded-for': from });
}

async function times(count: number, work: (n: number) => Promise<Answer>): Promise<number[]> {
  const statuses = [];
  for (let n = 0; n < count; n += 1) statuses.push((await work(n)).status);
  return statuses;
}

async function entries({ id }: TestOperator) {
  const { rows } = await cluster.pool.query('select * from operator_audit where operator_id = $1 order by id', [id]);
  return rows;
}

describe('signing in', () => {
  test('answers with a token that is valid for 12 hours and stored as a hash only', async () => {
    const operator = await anOperator(cluster);

    const { status, body, headers } = await login({ ...operator, email: operator.email.toUpperCase() });

    expect(status).toBe(200);
    expect(body.operator).toEqual({ operatorID: operator.id, email: operator.email, operatorTitle: 'On call' });
    expect(body.token).toMatch(/^[0-9a-f]{64}$/);
    expect(Date.parse(body.expiresAt) - Date.now()).toBeGreaterThan(11.9 * 3_600_000);
    expect(Date.parse(body.expiresAt) - Date.now()).toBeLessThanOrEqual(12 * 3_600_000);
    expect(headers.get('cache-control')).toBe('no-store');
    expect((await cluster.asOperator(body).get(ME)).body).toEqual({ success: true, operator: body.operator });
    const { rows } = await cluster.pool.query('select s::text as session from operator_session s');
    expect(JSON.stringify(rows)).not.toContain(body.token);
  });

  test('answers alike for an unknown address, a wrong password and a disabled operator', async () => {
    const [operator, disabled] = [await anOperator(cluster), await anOperator(cluster, { isDisabled: true })];

    const answers = [
      await login({ email: `nobody-${newID()}@example.test`, password: operator.password }),
      await login({ ...operator, password: 'a wrong password' }),
      await login(disabled),
      await login({ ...disabled, password: 'a wrong password' }),
    ];

    for (const { status, body } of answers) {
      expect(status).toBe(401);
      expect(body).toEqual({
        success: false,
        error: { code: 'INVALID_LOGIN', message: 'The e-mail address or the password is wrong' },
      });
    }
  });

  test('reads no large body, since anyone may send one', async () => {
    const { status, body } = await cluster.as(undefined).post(LOGIN, { email: 'x'.repeat(21_000), password: 'x' });

    expect({ status, code: body.error.code }).toEqual({ status: 413, code: 'PAYLOAD_TOO_LARGE' });
  });

  test('names the malformed field', async () => {
    const { status, body } = await cluster.as(undefined).post(LOGIN, { email: 'no address', password: '' });

    expect({ status, code: body.error.code }).toEqual({ status: 400, code: 'VALIDATION_ERROR' });
    expect(body.error.message).toContain('email');
    expect(body.error.message).toContain('password');
  });

  test('is recorded with its address, also when it fails, and without the password', async () => {
    const operator = await anOperator(cluster);
    const from = anAddress();
    const typed = `hunter2-${newID()}@example.test`;

    await login({ ...operator, password: 'a wrong password' }, { from });
    await login(operator, { from });
    await login({ email: typed, password: 'x' }, { from });

    expect(await entries(operator)).toMatchObject([
      { action: 'LOGIN_FAILED', status: 401, ip_address: from, path: LOGIN },
      { action: 'LOGIN', status: 200, ip_address: from, method: 'POST' },
    ]);
    const { rows } = await cluster.pool.query('select a::text as entry from operator_audit a where ip_address = $1', [
      from,
    ]);
    expect(rows).toHaveLength(3);
    expect(JSON.stringify(rows)).not.toContain(typed);
  });

  test('replaces a hash that was made with weaker parameters', async () => {
    const operator = await anOperator(cluster);
    const hash = async () =>
      (await cluster.pool.query('select password_hash from operator where id = $1', [operator.id])).rows[0];
    expect((await hash()).password_hash).toContain('m=1024,');

    expect((await login(operator)).status).toBe(200);

    expect((await hash()).password_hash).toContain('m=47104,');
    expect((await login(operator)).status).toBe(200);
  });
});

describe('a session', () => {
  test('ends with its own logout only', async () => {
    const operator = await anOperator(cluster);
    const { body } = await login(operator);

    expect(await cluster.asOperator(body).post('/api/v1/operator/auth/logout')).toMatchObject({
      status: 200,
      body: { success: true },
    });

    expect((await cluster.asOperator(body).get(ME)).status).toBe(401);
    expect((await cluster.asOperator(operator).get(ME)).status).toBe(200);
    expect((await entries(operator)).map(({ action }) => action)).toEqual(['LOGIN', 'LOGOUT']);
  });

  test('ends in every process on the next request when the operator is disabled', async () => {
    const operator = await anOperator(cluster);
    const statuses = () =>
      Promise.all(
        cluster.apis.map(async ({ baseURL }) => (await cluster.asOperator(operator, { baseURL }).get(ME)).status),
      );
    expect(await statuses()).toEqual([200, 200]);

    await cluster.pool.query('update operator set is_disabled = true where id = $1', [operator.id]);

    expect(await statuses()).toEqual([401, 401]);
  });

  test('is not opened when the password is reset while a login verifies it', async () => {
    const operator = await anOperator(cluster);
    // A hash that is to be replaced would wait for the lock before this.
    await login(operator);
    const client = await cluster.pool.connect();
    await client.query('begin');
    await client.query('update operator set password_version = password_version + 1 where id = $1', [operator.id]);

    const pending = login(operator);
    // The login has read the account and waits for the lock.
    await expect
      .poll(async () => {
        const { rows } = await cluster.pool.query(
          `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%for share%' and datname = current_database()`,
        );
        return rows.length;
      })
      .toBe(1);
    await client.query('commit');
    client.release();

    expect((await pending).status).toBe(401);
  });
});

describe('a series of wrong passwords', () => {
  test('is stopped for one network and account after ten attempts, over all API processes', async () => {
    const operator = await anOperator(cluster);
    const from = anAddress();
    const wrong = { ...operator, password: 'a wrong password' };

    expect(await times(10, (n) => login(wrong, { from, api: n % 2 }))).toEqual(Array(10).fill(401));

    const refused = await login(operator, { from });
    expect(refused).toMatchObject({ status: 429, body: { success: false, error: { code: 'RATE_LIMITED' } } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60);
    // Other accounts in this network, and this account elsewhere, are not limited.
    expect((await login(await anOperator(cluster), { from })).status).toBe(200);
    expect((await login(operator)).status).toBe(200);
  });

  test('is stopped in the same way for an unknown account', async () => {
    const from = anAddress();
    const unknown = { email: `nobody-${newID()}@example.test`, password: 'a wrong password' };

    expect(await times(11, () => login(unknown, { from }))).toEqual([...Array(10).fill(401), 429]);
  });

  test('is counted from zero after a successful login', async () => {
    const operator = await anOperator(cluster);
    const from = anAddress();
    const wrong = { ...operator, password: 'a wrong password' };
    await times(8, () => login(wrong, { from }));

    expect((await login(operator, { from })).status).toBe(200);

    expect(await times(3, () => login(wrong, { from }))).toEqual([401, 401, 401]);
  });

  test('is stopped for one network after thirty attempts, on any accounts', async () => {
    const from = '2001:db8:1:2::1';
    const guessed = [await anOperator(cluster), await anOperator(cluster), await anOperator(cluster)];
    const guess = (n: number) => {
      const { email = 'nobody@example.test' } = n < 30 ? (guessed[n % 3] ?? {}) : {};
      return login({ email, password: 'x' }, { from: `2001:db8:1:2::${(n + 1).toString(16)}` });
    };

    expect(await times(31, guess)).toEqual([...Array(30).fill(401), 429]);
    expect((await login(await anOperator(cluster), { from })).status).toBe(429);
    expect((await login(await anOperator(cluster), { from: '2001:db8:1:3::1' })).status).toBe(200);
  });

  test('from many networks locks the account for new networks, not for those that its operator has signed in from', async () => {
    const operator = await anOperator(cluster);
    const home = anAddress();
    const { rows } = await cluster.pool.query('select password_hash from operator where id = $1', [operator.id]);
    expect((await login(operator, { from: home })).status).toBe(200);
    // The login has made the hash anew, with which a hundred wrong passwords would take 46 MiB each.
    const weak = [operator.id, rows[0].password_hash];
    await cluster.pool.query('update operator set password_hash = $2 where id = $1', weak);

    for (let round = 0; round < 5; round += 1) {
      const wrong = { ...operator, password: 'a wrong password' };
      await Promise.all(Array.from({ length: 20 }, () => login(wrong)));
    }

    expect((await login(operator)).status).toBe(429);
    expect((await login(operator, { from: home })).status).toBe(200);
  }, 240_000);
});
