/**
 * `npm test`: the whole suite on both backplanes, on servers started for the occasion.
 *
 *   npm test -- policy                  the files with "policy" in their path (vitest's own filters and options work)
 *   npm test -- --backplane postgres    one backplane
 *   npm test -- --watch policy          keeps the servers up and repeats on every change: a second, not ten
 *   npm run test:all                    all generated cases; `npm test` draws a sample of them, which TEST_SEED=<seed> repeats
 *
 * TEST_TIMES=<path> writes the seconds and the processor seconds of every file there, as JSON.
 * TEST_DATABASE_URL, TEST_DATASOURCE_URL, TEST_TENANTS_URL and TEST_REDIS_URL name servers to use instead. Their databases are dropped and flushed.
 * The server of datasources is one of its own, because workers connect no tenant to the deployment's; the third is for databases of
 * tenants, prepared by ops/tenant-server.sql.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedis, startRedis } from '#test/servers/redis.ts';
import { startPostgres } from '../embedded/postgres.ts';
import { tiedToParent } from '../embedded/processes.ts';
import type { TestResult } from './run-vitest.ts';

/** The suite on both backplanes has to stay below this on two cores with no other work. */
const BUDGET = { seconds: 480, processorSeconds: 900 };

/**
 * Continuous integration fails beyond this: other work on the machine adds to the clock, and less to the processor time. A machine there
 * took 2.6 times the processor time of ours, and 5.5 times the clock.
 */
const MAX_PROCESSOR_SECONDS = 5 * BUDGET.processorSeconds;

const sharedMemory = '/dev/shm';

const backplanes = ['postgres', 'redis'] as const;
type Backplane = (typeof backplanes)[number];

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal));

const { wanted, watch, takesAll, rest } = readArguments(process.argv.slice(2));
const seed = process.env.TEST_SEED ?? `${randomInt(1_000_000)}`;
let result: TestResult = { passed: 0, failed: [], unsteady: [], skipped: [], files: [] };
let missing: string | undefined;

try {
  await using servers = new AsyncDisposableStack();
  const parent = await folderForServers();
  const dir = servers.adopt(await makeFolder(parent), (path) => rm(path, { recursive: true, force: true }));
  const [databaseURL, datasourceURL, tenantsURL] = await Promise.all([
    process.env.TEST_DATABASE_URL ?? startDatabase(servers, dir, 'postgres'),
    process.env.TEST_DATASOURCE_URL ?? startDatabase(servers, dir, 'datasources'),
    process.env.TEST_TENANTS_URL ?? startDatabase(servers, dir, 'tenants'),
  ]);
  const redis = wanted.includes('redis') ? await provideRedis(servers, dir) : undefined;
  missing = redis?.reason;

  const available = wanted.filter((backplane) => backplane === 'postgres' || redis?.url !== undefined);
  const env = testEnvironment(available, { databaseURL, datasourceURL, tenantsURL, redisURL: redis?.url });
  if (!stop.signal.aborted) result = await runVitest([...(watch ? ['--watch'] : []), ...rest], env);
} catch (error) {
  console.error(`\nThe tests could not be run: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
report();

function readArguments(args: string[]): {
  wanted: readonly Backplane[];
  watch: boolean;
  takesAll: boolean;
  rest: string[];
} {
  const rest = args.flatMap((arg) => arg.split(/(?<=^--backplane)=/));
  const at = rest.indexOf('--backplane');
  const [, chosen] = at < 0 ? [] : rest.splice(at, 2);
  const watch = rest.includes('--watch');
  if (at >= 0 && !backplanes.some((backplane) => backplane === chosen)) {
    console.error(`--backplane takes ${backplanes.join(' or ')}`);
    process.exit(2);
  }
  const named = backplanes.filter((backplane) => backplane === (chosen ?? (watch ? 'postgres' : backplane)));
  const takesAll = rest.includes('--all');
  return { wanted: named, watch, takesAll, rest: rest.filter((arg) => arg !== '--watch' && arg !== '--all') };
}

/**
 * In memory where there is enough of it: the servers hold up to 1 GB. On ext4, making the 300 files of a database takes 40 to
 * 100 ms of processor time, since the file system does not use again at once what was deleted lately; on a tmpfs 10 to 17 ms.
 */
async function folderForServers(): Promise<string> {
  const { type, bavail, bsize } = await statfs(sharedMemory).catch(() => ({ type: 0, bavail: 0, bsize: 0 }));
  const isTmpfs = type === 0x01021994;
  return isTmpfs && Math.min(bavail * bsize, process.availableMemory() / 2) > 3e9 ? sharedMemory : tmpdir();
}

/** Its name tells the next run whether it was left behind by one that was killed. */
async function makeFolder(parent: string): Promise<string> {
  for (const folder of [tmpdir(), sharedMemory]) await removeLeftovers(folder);
  const dir = await mkdtemp(join(parent, `gantry-test-${process.pid}-`));
  await chmod(dir, 0o711); // As root, Postgres runs as another user and has to get through.
  return dir;
}

async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = Number(/^gantry-test-(\d+)-/.exec(name)?.[1]);
    if (pid > 0 && !isAlive(pid)) await rm(join(folder, name), { recursive: true, force: true }).catch(() => {});
  }
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
 * The databases of `freshDatabase` ask for no password: a cluster makes up to 53 connections, and checking one takes a part of each.
 */
async function startDatabase(servers: AsyncDisposableStack, dir: string, name: string): Promise<string> {
  const settings = {
    fsync: 'off',
    autovacuum: 'off',
    full_page_writes: 'off',
    synchronous_commit: 'off',
    max_wal_size: '256MB',
    wal_level: 'minimal',
    max_wal_senders: '0',
    max_connections: '500',
  };
  const folder = { dir: join(dir, name), log: join(dir, `${name}.log`) };
  const forTenants = name === 'tenants';
  const database = forTenants ? 'postgres' : 'gantry';
  const access = join(dir, `${name}.access`);
  const rules = ['"/^test_[0-9a-f]{32}$" all 127.0.0.1/32 trust', 'all all 127.0.0.1/32 scram-sha-256'];
  await writeFile(
    access,
    rules.map((rule) => `host ${rule}\n`),
    { mode: 0o644 },
  );
  return servers.use(
    await startPostgres({
      ...folder,
      database,
      forTenants,
      settings: {
        ...settings,
        ...(forTenants && { reserved_connections: '5' }),
        ...(name === 'postgres' && { hba_file: access }),
      },
    }),
  ).url;
}

async function provideRedis(servers: AsyncDisposableStack, dir: string): Promise<{ url?: string; reason?: string }> {
  if (process.env.TEST_REDIS_URL) return { url: process.env.TEST_REDIS_URL };
  const found = await findRedis();
  if (found.path === null) return { reason: found.reason };
  return { url: servers.use(await startRedis({ dir: join(dir, 'redis') })).url };
}

/** Tests must never empty a developer's own DATABASE_URL or REDIS_URL. */
function testEnvironment(
  available: readonly Backplane[],
  {
    databaseURL,
    datasourceURL,
    tenantsURL,
    redisURL,
  }: { databaseURL: string; datasourceURL: string; tenantsURL: string; redisURL: string | undefined },
): NodeJS.ProcessEnv {
  const { DATABASE_URL, REDIS_URL, TEST_REDIS_URL, ...inherited } = process.env;
  return {
    ...inherited,
    NODE_ENV: 'test',
    ...(process.stdout.isTTY ? {} : { NO_COLOR: '1' }),
    GANTRY_TEST_BACKPLANES: available.join(','),
    GANTRY_TEST_ALL: String(takesAll),
    TEST_SEED: seed,
    TEST_DATABASE_URL: databaseURL,
    TEST_DATASOURCE_URL: datasourceURL,
    TEST_TENANTS_URL: tenantsURL,
    ...(redisURL && { TEST_REDIS_URL: redisURL }),
  };
}

async function runVitest(args: string[], env: NodeJS.ProcessEnv): Promise<TestResult> {
  const script = join(import.meta.dirname, 'run-vitest.ts');
  const [command = '', ...rest] = tiedToParent('KILL', [process.execPath, script, ...args]);
  const child = spawn(command, rest, { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  let received: TestResult | undefined;
  child.on('message', (message) => {
    received = message as TestResult; // Only run-vitest.ts writes to this channel.
  });
  const exit = endOf(child);
  stop.signal.addEventListener('abort', () => child.kill(stop.signal.reason));

  const how = await exit;
  if (received === undefined)
    return { passed: 0, failed: [`vitest ended without a result (${how})`], unsteady: [], skipped: [], files: [] };
  if (how !== 'exit code 0' && received.failed.length === 0)
    received.failed.push(`vitest failed outside the tests (${how})`);
  return received;
}

async function endOf(child: ChildProcess): Promise<string> {
  const [code, signal] = await once(child, 'exit');
  return signal ? String(signal) : `exit code ${code}`;
}

function report(): void {
  const { passed, failed, unsteady, skipped, files } = result;
  if (process.env.TEST_TIMES) writeFileSync(process.env.TEST_TIMES, JSON.stringify(files, null, 1));
  if (files.length > 1) console.log(`\nSlowest files:\n${slowest(files).join('\n')}`);
  if (skipped.length > 0)
    console.log(`\nSkipped:\n${skipped.map(({ name, reason }) => `  ${name}: ${reason}`).join('\n')}`);
  if (unsteady.length > 0)
    console.log(
      `\nPassed only at the second try:\n${unsteady.map(({ name, error }) => `  ${name}\n    first: ${error}`).join('\n')}`,
    );
  if (failed.length > 0) console.log(`\nFailed:\n${failed.map((name) => `  ${name}`).join('\n')}`);
  if (failed.length + unsteady.length > 0 && !takesAll)
    console.log(`\nGenerated cases were a sample: TEST_SEED=${seed} draws the same.`);
  if (missing !== undefined) {
    console.log(`\n!!! The suite ran on the Postgres backplane ONLY: ${missing}.`);
    console.log(
      '!!! Install redis-server or valkey-server to test the Redis backplane, which is the one production uses.',
    );
  }
  if (passed + failed.length === 0) console.log('\nNo test ran.');
  if (stop.signal.aborted) console.log(`\nStopped by ${stop.signal.reason}.`);
  const inTime = reportTime();
  console.log(`\n${passed} passed, ${failed.length} failed`);
  if (failed.length > 0 || passed === 0 || stop.signal.aborted || !inTime) process.exitCode = 1;
}

function slowest(files: TestResult['files']): string[] {
  const byPath = Object.values(Object.groupBy(files, ({ path }) => path)).flatMap((runs) => {
    const [first] = runs ?? [];
    if (!runs || !first) return [];
    const seconds = runs.reduce((sum, run) => sum + run.seconds, 0);
    const each = runs
      .map(
        (run) => `${run.backplane} ${run.seconds.toFixed(1)} s, ${run.processorSeconds.toFixed(1)} s of processor time`,
      )
      .join('; ');
    const tests = runs.reduce((sum, run) => sum + run.tests, 0);
    return [{ seconds, line: `${`${tests}`.padStart(6)} tests  ${first.path} (${each})` }];
  });
  byPath.sort((a, b) => b.seconds - a.seconds);
  return byPath.slice(0, 10).map(({ seconds, line }) => `${seconds.toFixed(1).padStart(8)} s ${line}`);
}

/** Only a whole run can be held against the budget. Answers whether the run may pass. */
function reportTime(): boolean {
  const seconds = Math.round(performance.now() / 1000);
  const processorSeconds = usedProcessorSeconds();
  const ofProcessor = processorSeconds === undefined ? '' : ` and ${processorSeconds} s of processor time`;
  const isWhole = rest.length === 0 && wanted.length === backplanes.length && missing === undefined && !takesAll;
  console.log(`\nTook ${seconds} s${ofProcessor}.`);
  if (!isWhole) return true;
  const { unsteady } = result;
  console.log(
    `The whole suite may take ${BUDGET.seconds} s and ${BUDGET.processorSeconds} s of processor time; ${unsteady.length} tests needed a second try.`,
  );
  if (seconds > BUDGET.seconds || (processorSeconds ?? 0) > BUDGET.processorSeconds)
    console.log('!!! The suite is over its budget.');
  if (!process.env.CI || processorSeconds === undefined || processorSeconds <= MAX_PROCESSOR_SECONDS) return true;
  console.log(`!!! In continuous integration it fails beyond ${MAX_PROCESSOR_SECONDS} s of processor time.`);
  return false;
}

/**
 * Processor time of this process and of all that it, or a process below it, has started and waited for: vitest, the servers, the
 * processes of tests. Time is missing of those alone whose parent was killed before them. Only Linux tells it.
 */
function usedProcessorSeconds(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  // The name of the program, in parentheses, may contain spaces. Ticks of a hundredth of a second, on every Linux.
  const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
  const ticks = fields.split(' ').slice(11, 15).map(Number);
  return Math.round(ticks.reduce((sum, one) => sum + one, 0) / 100);
}
