import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, mkdtemp, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '#ops/embedded/ports.ts';
import { migrateAll } from '#ops/migrate-all.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { type OwnPostgres, startOwnPostgres } from '#test/support/own-postgres.ts';
import { nodeEnvironment } from '#test/support/process.ts';
import { startTCPProxy, type TCPProxy } from '#test/support/tcp-proxy.ts';
import { type EmbeddedRedis, startRedis } from '../servers/redis.ts';
import type { Fault, Target } from './faults.ts';

/** A deployment of real processes, with a network between each of them and its stores that can be broken. */
export interface World extends AsyncDisposable {
  readonly apiURL: string;
  /** Reads the database, past the faults of the network. */
  readonly pool: Pool;
  /** The settings of a process without faults in between. */
  readonly env: Record<string, string>;
  /** Logs of the processes. The folder stays. */
  readonly logs: string;
  /** Processes that ended although nothing ended them. */
  readonly exits: string[];
  readonly postgres: OwnPostgres['postgres'];
  cause(fault: Fault): Promise<void>;
}

/** On Postgres each queue takes three connections. The program uses no others. */
const worker = ['workers/main.ts', 'workflow.runs', 'listener.events', 'cron.ticks'] as const;
const programs = { api: ['api/main.ts'], worker1: worker, worker2: worker } as const;
const targets = ['api', 'worker1', 'worker2'] as const satisfies readonly Target[];

export async function startWorld({
  isRedis,
  leaseSeconds,
}: {
  isRedis: boolean;
  leaseSeconds: number;
}): Promise<World> {
  await using resources = new AsyncDisposableStack();
  const { postgres, dir } = resources.use(await startOwnPostgres());
  const redis = isRedis ? resources.use(await startRedis({ dir: join(dir, 'redis') })) : undefined;
  const port = await freePort();
  const env: Record<string, string> = {
    NODE_ENV: 'test',
    DATABASE_URL: postgres.url,
    ...(redis && { REDIS_URL: redis.url }),
    SECRETS_KEYS: `chaos:${Buffer.alloc(32, 7).toString('base64')}`,
    OUTBOUND_ALLOW: '127.0.0.0/8',
    PORT: String(port),
    DEV_ISSUER_KEY_FILE: join(dir, 'key.json'),
    WORKER_SESSION_SECONDS: String(leaseSeconds),
    DATABASE_POOL: '5',
    WORKER_SLOTS: '20',
    SANDBOX_PROCESSES: '1',
    TENANT_DATABASES: 'false',
    LOG_LEVEL: 'info',
  };
  const logs = await mkdtemp(join(tmpdir(), 'gantry-chaos-'));
  const config = readConfig(env);
  const logger = createLogger({ level: 'silent' });
  const pool = createPool(config.db, logger, { max: 2 });
  resources.defer(() => pool.end());
  {
    await using backplane = await createBackplane(config.backplane, logger);
    await migrateAll(config, backplane, logger);
  }
  const exits: string[] = [];
  const processes = {} as Record<Target, FaultyProcess>;
  for (const name of targets)
    processes[name] = resources.use(
      await startProcess(name, { env, logs, postgresURL: postgres.url, redisURL: redis?.url, exits }),
    );

  const owned = resources.move();
  return {
    apiURL: `http://127.0.0.1:${port}`,
    pool,
    env,
    logs,
    exits,
    postgres,
    cause: (fault) => cause(fault, { processes, postgres, redis }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface Parts {
  processes: Record<Target, FaultyProcess>;
  postgres: OwnPostgres['postgres'];
  redis: EmbeddedRedis | undefined;
}

/** Begins a fault, and returns when it is over. A second one of the same kind at the same place meanwhile does nothing. */
async function cause(fault: Fault, { processes, postgres, redis }: Parts): Promise<void> {
  switch (fault.kind) {
    case 'stop postgres':
      return oneAtATime('postgres', async () => {
        await postgres.kill9();
        await sleep(fault.forMs);
        await postgres.restart();
      });
    case 'stop redis':
      return oneAtATime('redis', async () => {
        await redis?.kill9();
        await sleep(fault.forMs);
        await redis?.restart();
      });
    case 'flush redis': {
      if (!redis) return;
      const client = new Redis(redis.url, { lazyConnect: true, retryStrategy: () => null });
      client.on('error', () => undefined);
      await client.flushall().catch(() => undefined);
      return client.disconnect();
    }
    case 'silence':
    case 'cut':
      return processes[fault.target].partition(fault.store, fault.kind, fault.forMs);
    default:
      return processes[fault.target].harm(fault.kind, fault.forMs);
  }
}

const busy = new Set<string>();

async function oneAtATime(what: string, work: () => Promise<void>): Promise<void> {
  if (busy.has(what)) return;
  busy.add(what);
  try {
    await work();
  } finally {
    busy.delete(what);
  }
}

interface FaultyProcess extends AsyncDisposable {
  harm(how: 'kill' | 'terminate' | 'freeze', forMs: number): Promise<void>;
  partition(store: 'postgres' | 'redis', how: 'silence' | 'cut', forMs: number): Promise<void>;
}

interface ProcessOptions {
  env: Record<string, string>;
  logs: string;
  postgresURL: string;
  redisURL: string | undefined;
  exits: string[];
}

async function startProcess(
  name: Target,
  { env, logs, postgresURL, redisURL, exits }: ProcessOptions,
): Promise<FaultyProcess> {
  await using resources = new AsyncDisposableStack();
  const proxies: Partial<Record<'postgres' | 'redis', TCPProxy>> = {};
  const through = async (store: 'postgres' | 'redis', address: string) => {
    const proxy = resources.use(await startTCPProxy(address));
    proxies[store] = proxy;
    return proxy.url;
  };
  const settings = {
    ...env,
    DATABASE_URL: await through('postgres', postgresURL),
    ...(redisURL && { REDIS_URL: await through('redis', redisURL) }),
  };
  const log = resources.adopt(await open(join(logs, `${name}.log`), 'a'), (file: FileHandle) => file.close());
  let child: ChildProcess;
  let isExpected = false;
  let isHarmed = false;

  function launch(): void {
    const started = spawn(process.execPath, [...programs[name]], {
      env: nodeEnvironment(settings),
      stdio: ['ignore', log.fd, log.fd, 'ipc'],
    });
    child = started;
    started.on('exit', (code, signal) => {
      if (isExpected || started !== child) return;
      exits.push(`${name} ended by itself (${signal ?? `exit code ${code}`})`);
      launch();
    });
  }

  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
    await ended;
    clearTimeout(timer);
    // None if it was killed after all.
    if (signal === 'SIGTERM' && child.exitCode) exits.push(`${name} was told to stop: exit code ${child.exitCode}`);
  }

  launch();
  const owned = resources.move();
  return {
    async harm(how, forMs) {
      if (isHarmed) return;
      isHarmed = true;
      if (how === 'freeze') {
        child.kill('SIGSTOP');
        await sleep(forMs);
        child.kill('SIGCONT');
      } else {
        isExpected = true;
        await end(how === 'kill' ? 'SIGKILL' : 'SIGTERM');
        await sleep(forMs / 4);
        isExpected = false;
        launch();
      }
      isHarmed = false;
    },
    async partition(store, how, forMs) {
      const proxy = proxies[store];
      if (!proxy) return;
      proxy[how]();
      await sleep(forMs);
      proxy.heal();
    },
    async [Symbol.asyncDispose]() {
      isExpected = true;
      child.kill('SIGCONT');
      await end('SIGKILL');
      await owned.disposeAsync();
    },
  };
}
