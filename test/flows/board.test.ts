import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Board, startBoard } from '#ops/board.ts';
import { queues } from '#shared/messaging/queues/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { testLogger } from '#test/support/environment.ts';
import { anOperator, type TestOperator } from '#test/support/factories.ts';
import { expectIcon } from '#test/support/icon.ts';

let cluster: Cluster;
let open: Board;
let guarded: Board;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  const start = (settings: Record<string, string>) =>
    startBoard({ config: readConfig({ ...cluster.env, BOARD_PORT: '0', ...settings }), logger: testLogger });
  open = await start({ BOARD_OPEN_ON_LOOPBACK: 'true' });
  guarded = await start({ TRUSTED_PROXIES: 'loopback' });
});
afterAll(async () => {
  await open[Symbol.asyncDispose]();
  await guarded[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

/** A browser without JavaScript: keeps cookies, sends the headers of a browser, and follows no redirects. */
function createBrowser(board: Board, { https = false }: { https?: boolean } = {}) {
  const baseURL = `http://127.0.0.1:${board.port}`;
  const cookies = new Map<string, string>();
  const set: string[] = [];

  async function send(method: string, path: string, options: { body?: string; headers?: Record<string, string> } = {}) {
    const response = await fetch(baseURL + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(method !== 'GET' && { 'sec-fetch-site': 'same-origin', origin: baseURL }),
        ...(options.body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...(https && { 'x-forwarded-proto': 'https' }),
        cookie: [...cookies].map((pair) => pair.join('=')).join('; '),
        ...options.headers,
      },
      ...(options.body !== undefined && { body: options.body }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      set.push(cookie);
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (/expires=thu, 01 jan 1970/i.test(cookie)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  async function readFormToken(): Promise<string> {
    const { text } = await send('GET', '/login');
    return /name="formToken" value="([0-9a-f]{64})"/.exec(text)?.[1] ?? '';
  }

  return {
    cookies,
    set,
    get: (path: string, headers?: Record<string, string>) => send('GET', path, { ...(headers && { headers }) }),
    send,
    readFormToken,
    async signIn({ email, password }: Pick<TestOperator, 'email' | 'password'>, headers?: Record<string, string>) {
      const formToken = await readFormToken();
      const body = `${new URLSearchParams({ formToken, email, password })}`;
      return send('POST', '/login', { body, ...(headers && { headers }) });
    },
  };
}

async function signedIn() {
  const operator = await anOperator(cluster);
  const browser = createBrowser(guarded);
  await browser.signIn(operator);
  return { operator, browser };
}

async function entries({ id }: TestOperator) {
  const { rows } = await cluster.pool.query('select * from operator_audit where operator_id = $1 order by id', [id]);
  return rows;
}

const [queue] = queues.map(({ name }) => name);

describe('open on loopback', () => {
  test('shows every queue, on each backplane', async () => {
    const browser = createBrowser(open);

    const { status, text } = await browser.get('/api/queues');

    expect(status).toBe(200);
    expect(JSON.parse(text).queues.map(({ name }: { name: string }) => name)).toEqual(
      queues.flatMap(({ name, deadLetters }) => (deadLetters === null ? [name] : [name, deadLetters])),
    );
    expect((await browser.get('/')).text).toContain('Gantry');
  });

  test('can neither be read nor operated by a page of another site, nor through a proxy with another host name', async () => {
    const browser = createBrowser(open);

    expect((await browser.get('/api/queues', { origin: 'https://evil.example' })).status).toBe(403);
    expect((await browser.get('/api/queues', { 'x-forwarded-for': '203.0.113.9' })).status).toBe(403);
  });

  test('is refused in production', () => {
    const production = { NODE_ENV: 'production', AUTH_ISSUER: 'https://login.example/', AUTH_AUDIENCE: 'gantry' };
    const { DEV_ISSUER_KEY_FILE, ...env } = cluster.env;

    expect(() => readConfig({ ...env, ...production, BOARD_OPEN_ON_LOOPBACK: 'true' })).toThrow(
      'BOARD_OPEN_ON_LOOPBACK',
    );
  });
});

describe('behind the session of an operator', () => {
  test('tells clients without a session only that it is alive and ready', async () => {
    const browser = createBrowser(guarded);

    expect(JSON.parse((await browser.get('/ready')).text)).toMatchObject({ success: true });
    expect((await browser.get('/health')).status).toBe(200);
    await expectIcon(`http://127.0.0.1:${guarded.port}/login`);
    for (const path of ['/', '/queue/x', '/static/js/main.js', '/logout']) {
      const { status, headers, text } = await browser.get(path);
      expect({ status, location: headers.get('location') }).toEqual({ status: 303, location: '/login' });
      expect(text).not.toContain('bull');
    }
    for (const [method, path] of [
      ['GET', '/api/queues'],
      ['PUT', `/api/queues/${queue}/pause`],
      ['POST', '/logout'],
    ] as const) {
      const { status, text } = await browser.send(method, path);
      expect(status).toBe(401);
      expect(JSON.parse(text)).toMatchObject({ success: false, error: { code: 'USER_AUTH_TOKEN_NOT_FOUND' } });
    }
  });

  test('lets an operator sign in with a form, work, and sign out', async () => {
    const { operator, browser } = await signedIn();

    expect((await browser.get('/api/queues')).status).toBe(200);
    const page = await browser.get('/');
    expect(page.text).toContain('Gantry');
    expect(page.text).toContain('/logout');
    expect((await browser.get('/logout')).text).toContain(operator.email);
    const session = new Map(browser.cookies);
    const out = await browser.send('POST', '/logout');
    expect({ status: out.status, location: out.headers.get('location') }).toEqual({ status: 303, location: '/login' });

    expect((await browser.get('/')).status).toBe(303);
    for (const [name, value] of session) browser.cookies.set(name, value);
    expect((await browser.get('/api/queues')).status).toBe(401);
  });

  test('protects the cookie from scripts and other sites, and from plain http when https is used', async () => {
    const operator = await anOperator(cluster);
    const [plain, secure] = [createBrowser(guarded), createBrowser(guarded, { https: true })];
    await plain.signIn(operator);
    await secure.signIn(operator);

    for (const cookie of [...plain.set, ...secure.set]) expect(cookie).toMatch(/; Path=\/;.*HttpOnly.*SameSite=Strict/);
    for (const cookie of secure.set) expect(cookie).toMatch(/^__Host-.*; Secure/);
    expect((await secure.get('/api/queues')).status).toBe(200);
    const session = secure.set.find((cookie) => cookie.includes('-session='));
    expect(session).toContain('Max-Age=43200');
  });

  test('forbids frames, foreign content and caching on every page', async () => {
    const { browser } = await signedIn();

    for (const path of ['/login', '/', '/logout']) {
      const { headers } = await browser.get(path);
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toMatch(/no-store|no-cache/);
    }
  });

  test('does not tell why a login failed, and limits attempts', async () => {
    const browser = createBrowser(guarded);
    const operator = await anOperator(cluster);
    const from = { 'x-forwarded-for': '198.51.100.77' };

    const wrong = await browser.signIn({ ...operator, password: '<b>a wrong password</b>' }, from);
    expect(wrong.status).toBe(401);
    expect(wrong.text).toContain('The e-mail address or the password is wrong');
    expect(wrong.text).not.toContain('<b>');
    expect(wrong.text).not.toContain(operator.email);
    for (let n = 0; n < 9; n += 1) await browser.signIn({ ...operator, password: 'wrong' }, from);
    const refused = await browser.signIn(operator, from);

    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('accepts the form only with the cookie it was sent with', async () => {
    const operator = await anOperator(cluster);
    const browser = createBrowser(guarded);
    const mine = await browser.readFormToken();
    const theirs = await createBrowser(guarded).readFormToken();

    for (const formToken of [theirs, '', 'x'.repeat(64), undefined]) {
      const fields = {
        email: operator.email,
        password: operator.password,
        ...(formToken !== undefined && { formToken }),
      };
      const { status } = await browser.send('POST', '/login', { body: `${new URLSearchParams(fields)}` });
      expect(status).toBe(400);
    }
    expect((await browser.get('/api/queues')).status).toBe(401);
    expect(await browser.readFormToken()).toBe(mine);
  });

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['a neighbour on the same domain', { 'sec-fetch-site': 'same-site', origin: 'https://evil.example.test' }],
    ['a typed address', { 'sec-fetch-site': 'none' }],
  ])('refuses a change from %s, with a valid session', async (_from, headers) => {
    const { operator, browser } = await signedIn();

    for (const [method, path] of [
      ['PUT', `/api/queues/${queue}/pause`],
      ['POST', '/login'],
      ['POST', '/logout'],
    ] as const)
      expect((await browser.send(method, path, { headers })).status).toBe(403);

    expect((await browser.get('/api/queues')).status).toBe(200);
    expect((await entries(operator)).map(({ action }) => action)).toEqual(['LOGIN']);
  });

  test('judges an old browser by its Origin header, and refuses a request without one', async () => {
    const { browser } = await signedIn();
    const [session] = browser.cookies;
    const pause = async (headers: Record<string, string>) => {
      const { status } = await fetch(`http://127.0.0.1:${guarded.port}/api/queues/${queue}/pause`, {
        method: 'PUT',
        // undici sends "cors" itself, but neither of the two headers that are checked.
        headers: { cookie: session?.join('=') ?? '', ...headers },
      });
      return status;
    };

    expect(await pause({})).toBe(403);
    expect(await pause({ origin: 'null' })).toBe(403);
    expect(await pause({ origin: 'https://evil.example' })).toBe(403);
    expect(await pause({ origin: `http://127.0.0.1:${guarded.port}` })).toBe(200);
    await browser.send('PUT', `/api/queues/${queue}/resume`);
  });

  test('records every action: operator, target, address and outcome', async () => {
    const { operator, browser } = await signedIn();
    const from = { 'x-forwarded-for': '198.51.100.99', 'user-agent': 'A browser' };

    await browser.get('/api/queues', from);
    const paused = await browser.send('PUT', `/api/queues/${queue}/pause?x=secret`, { headers: from });
    const unknown = await browser.send('PUT', '/api/queues/no.such/pause', { headers: from });
    await browser.send('PUT', `/api/queues/${queue}/resume`, { headers: from });

    expect(paused.status).toBe(200);
    const about = { action: 'BOARD', method: 'PUT', ip_address: '198.51.100.99', user_agent: 'A browser' };
    await expect
      .poll(async () => (await entries(operator)).slice(1))
      .toMatchObject([
        { ...about, path: `/api/queues/${queue}/pause`, status: 200 },
        { ...about, path: '/api/queues/no.such/pause', status: unknown.status },
        { ...about, path: `/api/queues/${queue}/resume`, status: 200 },
      ]);
  });

  test('performs no action that cannot be recorded', async () => {
    const { browser } = await signedIn();
    await cluster.pool.query('alter table operator_audit rename to operator_audit_away');

    const { status } = await browser.send('PUT', `/api/queues/${queue}/pause`);
    await cluster.pool.query('alter table operator_audit_away rename to operator_audit');

    expect(status).toBe(500);
    const { text } = await browser.get('/api/queues');
    expect(JSON.parse(text).queues[0].isPaused).toBe(false);
  });

  test('refuses a revoked or expired session and a disabled operator on the next request', async () => {
    for (const change of [
      'update operator_session set revoked_at = now() where operator_id = $1',
      'update operator_session set expires_at = now() where operator_id = $1',
      'update operator set is_disabled = true where id = $1',
    ]) {
      const { operator, browser } = await signedIn();
      expect((await browser.get('/api/queues')).status).toBe(200);

      await cluster.pool.query(change, [operator.id]);

      expect((await browser.get('/api/queues')).status).toBe(401);
    }
  });

  test('answers a malformed form with a 400', async () => {
    const browser = createBrowser(guarded);

    expect((await browser.send('POST', '/login', { body: 'x'.repeat(20_000) })).status).toBe(413);
    expect((await browser.send('POST', '/login', { body: 'email=%' })).status).toBe(400);
    expect((await browser.send('POST', '/login')).status).toBe(400);
  });
});
