import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { newID } from '#shared/core/ids.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { createOrm } from '#shared/entities/orm.ts';
import { migrate } from '#shared/entities/schema.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer } from '#shared/messaging/producer.ts';
import { readConfig } from '#shared/process/config.ts';
import { createRuns, type Runs } from '#shared/runs/runs.ts';
import { type EmbeddedRedis, findRedis, startRedis } from '#test/servers/redis.ts';
import { startPostgres } from '../embedded/postgres.ts';

export type BackplaneKind = 'redis' | 'postgres';

/** A deployment for one measurement: Postgres with fsync on, the backplane asked for, one worker process of its own. */
export interface BenchEnvironment extends AsyncDisposable {
  kind: BackplaneKind;
  env: Record<string, string>;
  pool: Pool;
  runs: Runs;
  tenantID: string;
  /** Process ids of the servers. */
  readonly pids: { postgres: number; redis?: number };
  /** Null on Postgres. */
  readonly redis: EmbeddedRedis | null;
  /** Answers with its process id. */
  startWorker(settings?: Record<string, string>): Promise<number>;
  /** Ends all workers, as a deploy does. */
  stopWorkers(): Promise<void>;
  /** Saves a graph and answers its version. `ofTenant`: for a tenant beside the one of the environment. */
  saveGraph(nodes: object[], edges: object[], options?: object, ofTenant?: string): Promise<string>;
  /** Saves a workflow of the version and answers its id. */
  saveWorkflow(versionID: string): Promise<string>;
  settings(): Promise<Record<string, unknown>>;
}

export async function openEnvironment(kind: BackplaneKind): Promise<BenchEnvironment> {
  await using resources = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'gantry-bench-'));
  resources.defer(() => rm(dir, { recursive: true, force: true }));
  const postgres = resources.use(
    await startPostgres({ dir: join(dir, 'postgres'), database: 'gantry', log: join(dir, 'postgres.log') }),
  );
  if (kind === 'redis') {
    const found = await findRedis();
    if (found.path === null) throw new Error(`No Redis server can be had on this machine: ${found.reason}`);
  }
  const redis = kind === 'redis' ? resources.use(await startRedis({ dir: join(dir, 'redis') })) : null;

  const env: Record<string, string> = {
    DATABASE_URL: postgres.url,
    ...(redis && { REDIS_URL: redis.url }),
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
    WORKER_SLOTS: '50',
    SECRETS_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    // A database accepts the tokens of one issuer.
    DEV_ISSUER_KEY_FILE: join(dir, 'issuer.json'),
    // A separate server would be one more server to measure.
    TENANT_DATABASES_URL: 'DATABASE_URL',
    NODE_ENV: 'development',
  };
  const config = readConfig(env);
  const logger = createLogger({ level: 'warn' });
  const pool = createPool(config.db, logger);
  resources.defer(() => pool.end());
  const backplane = resources.use(await createBackplane(config.backplane, logger));
  const orm = await createOrm(config.db, logger);
  await migrate(orm, pool, logger);
  await backplane.migrate();
  await orm.close();
  const runs = createRuns({
    pool,
    dispatchPool: pool,
    producer: createProducer(backplane),
    messages: backplane.messages,
    logger,
  });

  const tenantID = newID();
  await pool.query('insert into tenant (id, tenant_title, creator_id) values ($1, $2, $3)', [
    tenantID,
    'bench',
    newID(),
  ]);
  const workers: ChildProcess[] = [];
  async function stopWorkers(): Promise<void> {
    for (const worker of workers) {
      if (!isRunning(worker)) continue;
      worker.kill('SIGTERM');
      await once(worker, 'exit');
    }
  }
  resources.defer(stopWorkers);

  const owned = resources.move();
  return {
    kind,
    env,
    pool,
    runs,
    tenantID,
    pids: { postgres: postgres.pid, ...(redis && { redis: redis.pid }) },
    redis,
    async startWorker(settings = {}) {
      const worker = spawn(
        process.execPath,
        [...process.execArgv, ...(process.env.BENCH_NODE_ARGS?.split(' ') ?? []), 'workers/main.ts'],
        {
          env: { ...env, ...settings, PATH: process.env.PATH ?? '' },
          stdio: 'inherit',
        },
      );
      workers.push(worker);
      const began = Date.now();
      for (;;) {
        const { rows } = await pool.query('select 1 from worker_session where ended_at is null');
        const live = workers.filter(isRunning);
        if (rows.length >= live.length && worker.pid) return worker.pid;
        if (!isRunning(worker) || Date.now() - began > 20_000) throw new Error('The worker did not start');
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    stopWorkers,
    async saveGraph(nodes, edges, options = {}, ofTenant = tenantID) {
      const id = newID();
      await pool.query(
        'insert into workflow_version (id, tenant_id, nodes, edges, options) values ($1, $2, $3, $4, $5)',
        [id, ofTenant, JSON.stringify(nodes), JSON.stringify(edges), JSON.stringify(options)],
      );
      return id;
    },
    async saveWorkflow(versionID) {
      const id = newID();
      await pool.query(
        `insert into workflow (id, tenant_id, title, version_id, creator_id) values ($1, $2, 'Measured', $3, $2)`,
        [id, tenantID, versionID],
      );
      await pool.query('update workflow_version set workflow_id = $2 where id = $1', [versionID, id]);
      return id;
    },
    async settings() {
      const { rows } = await pool.query<{ name: string; setting: string }>(
        `select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'server_version')`,
      );
      return {
        ...Object.fromEntries(rows.map(({ name, setting }) => [name, setting])),
        backplane: kind,
        cores: availableParallelism(),
        clientSharesCores: true,
      };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A process that a signal has ended has no exit code. */
function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** `count` conditions in a row between start and end: nodes that do nothing but decide. */
export function noopChain(count: number): { nodes: object[]; edges: object[] } {
  const names = ['start', ...Array.from({ length: count }, (_, i) => `n${i + 1}`)];
  const nodes = names.map((id, index) =>
    index === 0
      ? { id, type: 'start', data: {} }
      : {
          id,
          type: 'condition',
          data: { branches: [{ id: 'yes', conditions: [{ operator: 'equals', leftValue: 1, rightValue: 1 }] }] },
        },
  );
  const edges = names.slice(1).map((id, index) => ({
    id: `e${index}`,
    source: names[index],
    target: id,
    sourceHandle: index === 0 ? 'output' : 'yes',
  }));
  return { nodes, edges };
}

export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((p / 100) * sorted.length))] ?? Number.NaN;
}
