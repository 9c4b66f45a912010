/** `npm start` on given servers: which ones it uses, what it prints and refuses, and that it leaves them alone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openHome } from '#ops/embedded/home.ts';
import { freePort } from '#ops/embedded/ports.ts';
import { openServers } from '#ops/embedded/servers.ts';
import { readEmbeddedConfig } from '#shared/process/config.ts';
import { findRedis, startRedis } from '#test/servers/redis.ts';
import { onServer } from '#test/support/database.ts';
import { testSecurity, testServers } from '#test/support/environment.ts';
import { nodeEnvironment } from '#test/support/process.ts';

const root = join(import.meta.dirname, '../..');
const { password } = new URL(testServers.databaseURL);
const redisPassword = 'redisPassw0rdOfTheTest';
const database = `start_${process.pid}`;

let dir: string;
let databaseURL: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), `gantry-test-${process.pid}-`));
  await chmod(dir, 0o755);
  await onServer(`create database ${database}`);
  databaseURL = at(testServers.databaseURL, { pathname: `/${database}` });
});
afterAll(async () => {
  await onServer(`drop database if exists ${database} with (force)`);
  await rm(dir, { recursive: true, force: true });
});

test('runs on a given Postgres and a given Redis, names them without credentials and leaves both alone', async ({
  skip,
}) => {
  const found = await findRedis();
  if (found.path === null) skip(found.reason);
  await using server = await startRedis({ dir: join(dir, 'redis') });
  await using redis = await closedRedis(server.url);
  const home = join(dir, 'given');
  const gantry = await start({ DATABASE_URL: databaseURL, REDIS_URL: redis.url, ...keys, GANTRY_HOME: home });

  const banner = await gantry.until('Ctrl-C stops it');
  gantry.child.kill('SIGINT');
  const { code, out, err } = await gantry.ended;

  expect(code, err).toBe(0);
  const { host } = new URL(databaseURL);
  expect(banner).toMatch(new RegExp(`Postgres +given at ${host}/${database}\\n`));
  expect(banner).toMatch(new RegExp(`Queues +Redis at ${new URL(redis.url).host}\\n`));
  expect(banner).toMatch(/ is ready at .*\n\n +Console +http:\S+\/console\/\n/);
  expect(banner).toMatch(/Identity +development issuer/);
  expect(banner, 'the sample has run').toContain('COMPLETED');
  for (const name of ['nightly-import', 'order-approval', 'webhook-enrichment'])
    expect(banner).toMatch(new RegExp(`^  PORT=\\d+ npm run sample -- ${name} `, 'm'));
  expect(await redis.client.keys('gantry:workflow.runs:*'), 'its queues').not.toEqual([]);
  expect(await onDatabase('select status from workflow_instance')).toEqual([{ status: 'COMPLETED' }]);
  expect(await readdir(home)).not.toContain('postgres');
  const written = await Promise.all(
    (await readdir(join(home, 'logs'))).map((name) => readFile(join(home, 'logs', name))),
  );
  expect(written.length).toBeGreaterThan(1);
  for (const secret of [password, redisPassword]) expect(`${out}${err}${written}`).not.toContain(secret);
});

describe('on a database that has run with an identity provider', () => {
  const AUTH_ISSUER = 'https://login.example.test/';

  test('uses that provider, and the development issuer does not start', async () => {
    const settings = { DATABASE_URL: databaseURL, ...keys };
    const first = await start({ ...settings, AUTH_ISSUER, AUTH_AUDIENCE: 'gantry' });
    expect(await first.until('Ctrl-C stops it')).toMatch(/Identity +https:\/\/login\.example\.test\/\n/);
    first.child.kill('SIGINT');
    expect(await first.ended, 'without a warning').toMatchObject({ code: 0, err: '' });

    const second = await start(settings);

    const { code, out, err } = await second.ended;
    expect(err).toContain(`Gantry did not start: The database has run with the identity provider ${AUTH_ISSUER}`);
    expect({ code, out }, 'before the schema is touched').toEqual({ code: 1, out: 'Asking Postgres …\n' });
  });
});

describe('with --production', () => {
  const production = `${database}_production`;
  beforeAll(() => onServer(`create database ${production}`));
  afterAll(() => onServer(`drop database if exists ${production} with (force)`));

  test('signs users in itself, opens nothing to strangers and prints the first invitation', async () => {
    const PORT = String(await freePort());
    const BOARD_PORT = String(await freePort());
    const PUBLIC_URL = `http://localhost:${PORT}`;
    const settings = {
      DATABASE_URL: at(databaseURL, { pathname: `/${production}` }),
      ...keys,
      PORT,
      BOARD_PORT,
      PUBLIC_URL,
    };
    const gantry = await start(settings, '--production');
    const banner = await gantry.until('Ctrl-C stops it');
    expect(banner).toMatch(/Identity +accounts of this Gantry/);
    expect(banner).not.toContain('Datasources may reach servers on this machine');
    const [link = ''] = /http:\S+\/sign-in\/link\/\S+/.exec(banner) ?? [];

    expect((await fetch(`http://127.0.0.1:${PORT}/dev/token`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${BOARD_PORT}/`, { redirect: 'manual' })).status).toBe(303);
    const body = new URLSearchParams({ email: 'first@example.com', password: 'seven brown foxes under a bridge' });
    const use = () => fetch(link, { method: 'POST', headers: { origin: PUBLIC_URL }, body });
    expect((await use()).status).toBe(200);
    expect((await use()).status, 'a second use').toBe(410);

    gantry.child.kill('SIGINT');
    expect(await gantry.ended).toMatchObject({ code: 0 });
  });

  test('does not start without an address for people', async () => {
    const { code, err } = await (await start({ DATABASE_URL: databaseURL, ...keys }, '--production')).ended;

    expect(err).toContain('PUBLIC_URL is required with --production');
    expect(code).toBe(1);
  });
});

test('ends with one line and leaves no process behind when a given server is unreachable', async () => {
  const home = join(dir, 'refused');
  const REDIS_URL = `redis://:${redisPassword}@127.0.0.1:${await freePort()}`;

  const { code, out, err } = await (await start({ REDIS_URL, GANTRY_HOME: home })).ended;

  expect(code).toBe(1);
  expect(err.trim().split('\n')).toEqual([
    `Gantry did not start: REDIS_URL: Redis at ${new URL(REDIS_URL).host} cannot be used: the connection was refused`,
  ]);
  expect(out + err).not.toContain(redisPassword);
  await using _free = await openHome(home);
  expect(await readdir(home)).not.toContain('postgres');
});

describe('refuses', () => {
  const closed = { port: 0 };
  const other = createServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  beforeAll(async () => {
    closed.port = await freePort();
    await once(other.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => other.close());

  test.each<{ what: string; settings: () => Record<string, string>; says: () => string }>([
    {
      what: 'a Postgres without a key for credentials',
      settings: () => ({ DATABASE_URL: databaseURL, SECRETS_KEYS: '' }),
      says: () =>
        'SECRETS_KEYS is required with DATABASE_URL, to seal stored credentials. Make a key once and keep it: SECRETS_KEYS="k1:$(openssl rand -base64 32)"',
    },
    {
      what: 'a URL of another kind as Postgres',
      settings: () => ({ DATABASE_URL: `mysql://root:${password}@127.0.0.1/x` }),
      says: () => 'DATABASE_URL: must be a postgres:// URL',
    },
    {
      what: 'a URL of another kind as Redis',
      settings: () => ({ REDIS_URL: `${redisPassword}@127.0.0.1:6379` }),
      says: () => 'REDIS_URL: must be a redis:// URL',
    },
    {
      what: 'an unreachable Postgres',
      settings: () => ({ DATABASE_URL: at(databaseURL, { port: String(closed.port) }) }),
      says: () =>
        `DATABASE_URL: Postgres at 127.0.0.1:${closed.port}/${database} cannot be used: the connection was refused`,
    },
    {
      what: 'a Postgres URL of another server',
      settings: () => ({ DATABASE_URL: at(databaseURL, { port: String(portOf(other)) }) }),
      says: () => `DATABASE_URL: Postgres at 127.0.0.1:${portOf(other)}/${database} cannot be used: `,
    },
    {
      what: 'a wrong password of Postgres',
      settings: () => ({ DATABASE_URL: at(databaseURL, { password: redisPassword }) }),
      says: () => 'cannot be used: the user name or the password is wrong',
    },
    {
      what: 'a missing password of Postgres',
      settings: () => ({ DATABASE_URL: at(databaseURL, { password: '' }) }),
      says: () => 'cannot be used: it asks for a password',
    },
    {
      what: 'a database that does not exist',
      settings: () => ({ DATABASE_URL: at(databaseURL, { pathname: '/absent' }) }),
      says: () => `DATABASE_URL: Postgres at ${new URL(databaseURL).host} has no database "absent"; create it first`,
    },
    {
      what: 'an unknown host',
      settings: () => ({ REDIS_URL: `rediss://:${redisPassword}@redis.invalid` }),
      says: () => 'REDIS_URL: Redis at redis.invalid:6379 cannot be used: the host',
    },
    {
      what: 'unreachable Sentinels',
      settings: () => ({ REDIS_URL: `redis://:${redisPassword}@x`, REDIS_SENTINELS: `127.0.0.1:${closed.port}` }),
      says: () => `REDIS_URL: Redis at mymaster of the Sentinels 127.0.0.1:${closed.port} cannot be used: `,
    },
    {
      what: 'a Redis URL of another server',
      settings: () => ({ REDIS_URL: `redis://:${redisPassword}@127.0.0.1:${portOf(other)}` }),
      says: () => `REDIS_URL: Redis at 127.0.0.1:${portOf(other)} cannot be used: it does not answer like Redis`,
    },
  ])('$what', async ({ settings, says }) => {
    const home = await mkdtemp(join(dir, 'home-'));

    const message = await messageOf(async () => openServers(readEmbeddedConfig({ ...keys, ...settings() }), home));

    expect(message).toContain(says());
    expect(message).not.toContain('\n');
    for (const secret of [password, redisPassword]) expect(message).not.toContain(secret);
    expect(await readdir(home)).toEqual([]);
  });

  test('a wrong or missing password of Redis', async ({ skip }) => {
    const found = await findRedis();
    if (found.path === null) skip(found.reason);
    await using server = await startRedis({ dir: join(dir, 'redis') });
    await using redis = await closedRedis(server.url);

    const ask = (REDIS_URL: string) => messageOf(() => openServers(readEmbeddedConfig({ REDIS_URL }), dir));

    expect(await ask(at(redis.url, { password: 'wrong' }))).toContain('the user name or the password is wrong');
    expect(await ask(server.url)).toContain('it asks for a password');
  });
});

async function messageOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error('It was taken');
}

const keys = { SECRETS_KEYS: testSecurity.SECRETS_KEYS };

interface Started {
  child: ChildProcess;
  /** Resolves with the output once it contains the text. */
  until(words: string): Promise<string>;
  ended: Promise<{ code: number | null; out: string; err: string }>;
}

async function start(settings: Record<string, string>, ...args: string[]): Promise<Started> {
  const { HOME = '', LD_LIBRARY_PATH = '' } = process.env;
  const [PORT, BOARD_PORT, MCP_PORT] = [String(await freePort()), String(await freePort()), String(await freePort())];
  const GANTRY_HOME = await mkdtemp(join(dir, 'home-'));
  const child = spawn(process.execPath, ['ops/start.ts', ...args], {
    cwd: root,
    env: nodeEnvironment({ HOME, LD_LIBRARY_PATH, PORT, BOARD_PORT, MCP_PORT, GANTRY_HOME, ...settings }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  const err = text(child.stderr);
  const exit = once(child, 'exit');
  return {
    child,
    async until(words) {
      while (!out.includes(words)) await Promise.race([once(child.stdout, 'data'), exit.then(() => failed())]);
      return out;
      async function failed(): Promise<never> {
        throw new Error(`It ended without saying "${words}":\n${out}\n${await err}`);
      }
    },
    ended: exit.then(async ([code]) => ({ code, out, err: await err })),
  };
}

async function closedRedis(url: string) {
  const client = new Redis(url);
  await client.config('SET', 'requirepass', redisPassword);
  await client.auth(redisPassword);
  return {
    client,
    url: at(url, { password: redisPassword }),
    [Symbol.asyncDispose]: async () => client.disconnect(),
  };
}

async function onDatabase(sql: string) {
  const client = new pg.Client({ connectionString: databaseURL });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function at(url: string, parts: Partial<Pick<URL, 'password' | 'port' | 'pathname'>>): string {
  return Object.assign(new URL(url), parts).href;
}

function portOf(server: ReturnType<typeof createServer>): number {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}
