/**
 * `npm test`: the whole suite on both backplanes, on servers started for the occasion.
 *
 *   npm test -- policy                  the files with "policy" in their path (vitest's own filters and options work)
 *   npm test -- --backplane postgres    one backplane
 *   npm test -- --watch policy          keeps the servers up and repeats on every change: a second, not ten
 *
 * TEST_DATABASE_URL and TEST_REDIS_URL name servers to use instead. Their databases are dropped and flushed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedis, startRedis } from '#test/servers/redis.ts';
import { startPostgres } from '../embedded/postgres.ts';
import { tiedToParent } from '../embedded/processes.ts';
import type { PassResult } from './test-pass.ts';

/** Tests that never touch a backplane learn nothing from a second pass. */
const backplaneFree = [
  'test/ops/**',
  'test/shared/workflow/**',
  'test/shared/nodes/**',
  'test/shared/datasources/**',
  'test/shared/queries/**',
  'test/workers/connectors/**',
  'test/workers/files/**',
  'test/workers/postgresql/**',
  'test/workers/tenant-database/**',
  'test/workers/sandbox/**',
];

const backplanes = ['postgres', 'redis'] as const;
type Backplane = (typeof backplanes)[number];

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal));

const { wanted, watch, rest } = readArguments(process.argv.slice(2));
const results: (PassResult & { backplane: Backplane })[] = [];
let missing: string | undefined;

try {
  await using servers = new AsyncDisposableStack();
  const dir = servers.adopt(await makeFolder(), (path) => rm(path, { recursive: true, force: true }));
  const databaseURL = await provideDatabase(servers, dir);
  const redis = wanted.includes('redis') ? await provideRedis(servers, dir) : undefined;
  missing = redis?.reason;

  const passes = wanted.filter((backplane) => backplane === 'postgres' || redis?.url !== undefined);
  for (const [index, backplane] of passes.entries()) {
    if (stop.signal.aborted) break;
    console.log(`\n── ${backplane} backplane (pass ${index + 1} of ${passes.length}) ──`);
    const excluded = index > 0 ? backplaneFree.flatMap((glob) => ['--exclude', glob]) : [];
    const env = testEnvironment(backplane, databaseURL, redis?.url);
    results.push({ backplane, ...(await runPass([...(watch ? ['--watch'] : []), ...excluded, ...rest], env)) });
  }
} catch (error) {
  console.error(`\nThe tests could not be run: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
report();

function readArguments(args: string[]): { wanted: readonly Backplane[]; watch: boolean; rest: string[] } {
  const rest = args.flatMap((arg) => arg.split(/(?<=^--backplane)=/));
  const at = rest.indexOf('--backplane');
  const [, chosen] = at < 0 ? [] : rest.splice(at, 2);
  const watch = rest.includes('--watch');
  if (at >= 0 && !backplanes.some((backplane) => backplane === chosen)) {
    console.error(`--backplane takes ${backplanes.join(' or ')}`);
    process.exit(2);
  }
  const named = backplanes.filter((backplane) => backplane === (chosen ?? (watch ? 'postgres' : backplane)));
  return { wanted: named, watch, rest: rest.filter((arg) => arg !== '--watch') };
}

/** Its name tells the next run whether it was left behind by one that was killed. */
async function makeFolder(): Promise<string> {
  for (const name of await readdir(tmpdir())) {
    const pid = Number(/^gantry-test-(\d+)-/.exec(name)?.[1]);
    if (pid > 0 && !isAlive(pid)) await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
  const dir = await mkdtemp(join(tmpdir(), `gantry-test-${process.pid}-`));
  await chmod(dir, 0o711); // As root, Postgres runs as another user and has to get through.
  return dir;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * Nothing here outlives the run, so nothing has to reach the disk; tests of durability start a server of their own.
 * An autovacuum worker in a database keeps DROP DATABASE … WITH (FORCE) from anyone but a superuser, which we are not.
 */
async function provideDatabase(servers: AsyncDisposableStack, dir: string): Promise<string> {
  if (process.env.TEST_DATABASE_URL) return process.env.TEST_DATABASE_URL;
  const settings = {
    fsync: 'off',
    autovacuum: 'off',
    full_page_writes: 'off',
    wal_level: 'minimal',
    max_wal_senders: '0',
    max_connections: '500',
  };
  const folder = { dir: join(dir, 'postgres'), log: join(dir, 'postgres.log') };
  return servers.use(await startPostgres({ ...folder, database: 'gantry', settings })).url;
}

async function provideRedis(servers: AsyncDisposableStack, dir: string): Promise<{ url?: string; reason?: string }> {
  if (process.env.TEST_REDIS_URL) return { url: process.env.TEST_REDIS_URL };
  const found = await findRedis();
  if (found.path === null) return { reason: found.reason };
  return { url: servers.use(await startRedis({ dir: join(dir, 'redis') })).url };
}

/** Tests must never empty a developer's own DATABASE_URL or REDIS_URL. */
function testEnvironment(backplane: Backplane, databaseURL: string, redisURL: string | undefined): NodeJS.ProcessEnv {
  const { DATABASE_URL, REDIS_URL, TEST_REDIS_URL, ...inherited } = process.env;
  return {
    ...inherited,
    NODE_ENV: 'test',
    ...(process.stdout.isTTY ? {} : { NO_COLOR: '1' }),
    GANTRY_TEST_BACKPLANE: backplane,
    TEST_DATABASE_URL: databaseURL,
    ...(backplane === 'redis' && redisURL ? { TEST_REDIS_URL: redisURL } : {}),
  };
}

async function runPass(args: string[], env: NodeJS.ProcessEnv): Promise<PassResult> {
  const script = join(import.meta.dirname, 'test-pass.ts');
  const [command = '', ...rest] = tiedToParent('KILL', [process.execPath, script, ...args]);
  const child = spawn(command, rest, { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  let result: PassResult | undefined;
  child.on('message', (message) => {
    result = message as PassResult; // Only test-pass.ts writes to this channel.
  });
  const exit = endOf(child);
  stop.signal.addEventListener('abort', () => child.kill(stop.signal.reason));

  const how = await exit;
  if (result === undefined) return { passed: 0, failed: [`vitest ended without a result (${how})`], skipped: [] };
  if (how !== 'exit code 0' && result.failed.length === 0)
    result.failed.push(`vitest failed outside the tests (${how})`);
  return result;
}

async function endOf(child: ChildProcess): Promise<string> {
  const [code, signal] = await once(child, 'exit');
  return signal ? String(signal) : `exit code ${code}`;
}

function report(): void {
  const skipped = results.flatMap((pass) =>
    pass.skipped.map(({ name, reason }) => `  ${pass.backplane}: ${name}: ${reason}`),
  );
  const failed = results.flatMap((pass) => pass.failed.map((name) => `  ${pass.backplane}: ${name}`));
  const passed = results.reduce((sum, pass) => sum + pass.passed, 0);

  if (skipped.length > 0) console.log(`\nSkipped:\n${skipped.join('\n')}`);
  if (failed.length > 0) console.log(`\nFailed:\n${failed.join('\n')}`);
  if (missing !== undefined) {
    console.log(`\n!!! The suite ran on the Postgres backplane ONLY: ${missing}.`);
    console.log(
      '!!! Install redis-server or valkey-server to test the Redis backplane, which is the one production uses.',
    );
  }
  if (passed + failed.length === 0) console.log('\nNo test ran.');
  if (stop.signal.aborted) console.log(`\nStopped by ${stop.signal.reason}.`);
  console.log(`\n${passed} passed, ${failed.length} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`);
  if (failed.length > 0 || passed === 0 || stop.signal.aborted) process.exitCode = 1;
}
