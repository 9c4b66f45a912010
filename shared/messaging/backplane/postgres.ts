import { setTimeout as sleep } from 'node:timers/promises';
import { createAdapter } from '@socket.io/postgres-adapter';
import { createPostgresBackend, type PgPool, type Queue, runMigrations, type Worker, withBackend } from 'bullmq';
import pg from 'pg';
import { RateLimiterPostgres } from 'rate-limiter-flexible';
import { createBatcher } from '../../concurrency/batcher.ts';
import { yieldToEventLoop } from '../../concurrency/cooperative.ts';
import type { Logger } from '../../core/logger.ts';
import { createThrottledWarning, type Warn } from '../../core/throttled-warning.ts';
import { limitAnswers, surviveLostConnections } from '../../db/pool.ts';
import { createLimiter } from './limiter.ts';
import { createChannels } from './postgres-channels.ts';
import { createSocketPool, type SocketPool } from './socket-pool.ts';
import type { BackplaneConfig } from './types.ts';
import {
  type Backplane,
  type JobWorker,
  type Limiter,
  type NewJob,
  removeEndedJobs,
  setTimer,
  timerSettings,
  workerSettings,
} from './types.ts';
import { watchListeners } from './watch-listeners.ts';

// The default schema of BullMQ: it sets no other on a pool that it is given.
const schema = 'bullmq';
// Jobs do not wait for the disk: the record of the work is its row, and the sweep adds a job again that Postgres lost in a
// crash.
const LAZY = '-c synchronous_commit=off';
/** Limit up to which jobs are added one by one, 1 ms each. More are added in bulk, with two temporary tables: 7 ms, and 0.1 ms for each. */
const FEW_JOBS = 8;
/** Time limit of sending a message to sockets. After that its connection is closed, and later messages use a new one. */
const SEND_MS = 10_000;
/** Characters of a field of a payload. A job with a larger field is not batched with others, so that a statement stays below 8 MB. */
const LARGE_JOB = 16_384;
/** Characters of a field of a job that BullMQ takes more than two milliseconds to read. */
const LARGE_TEXT = 500_000;

type PoolOptions = pg.PoolConfig & { answerMs?: number };

/** Backplane on one database alone: queues in a schema of their own, sockets and messages by NOTIFY. */
export function createPostgresBackplane(config: BackplaneConfig, logger: Logger): Backplane {
  const { prefix, databaseURL: connectionString } = config;
  const classes = withBackend(createPostgresBackend);
  /** Pools, with their connections that are in use. */
  const pools = new Map<pg.Pool, Set<pg.PoolClient>>();
  const socketPools: { pool: SocketPool; sending: pg.Pool }[] = [];
  const queues = new Map<string, Queue>();
  const limiters: Limiter[] = [];
  const warnRarely = createThrottledWarning(logger);
  let isClosed = false;
  const warn: Warn = (...warning) => {
    // Connections that are closed on purpose report an error too.
    if (!isClosed) warnRarely(...warning);
  };

  function open(max: number, { answerMs = config.answerMs, ...options }: PoolOptions = {}): pg.Pool {
    const pool = new pg.Pool({
      connectionString,
      max,
      keepAlive: true,
      connectionTimeoutMillis: 5000,
      application_name: `gantry.${prefix}`,
      ...options,
    });
    surviveLostConnections(pool, (error) => warn(error, 'a connection of the queues broke'));
    if (answerMs) limitAnswers(pool, answerMs);
    // Each queue adds a listener for errors of the pool; with more than ten Node would warn of a leak.
    pool.setMaxListeners(0);
    const taken = new Set<pg.PoolClient>();
    pool.on('acquire', (client) => taken.add(client));
    pool.on('release', (_error, client) => taken.delete(client));
    pools.set(pool, taken);
    return pool;
  }

  /** Connections with LISTEN: on them BullMQ waits for jobs, for which it also polls every five seconds, and socket adapters for messages. */
  function* listeners(): Iterable<pg.PoolClient> {
    for (const taken of pools.values())
      for (const client of taken) if (client.listenerCount('notification') > 0) yield client;
  }
  const watch = config.answerMs ? watchListeners(listeners, config.answerMs) : undefined;

  // The schema must be on the search path: BullMQ sets it only on pools that it makes itself.
  const producers = open(5, { options: `-c search_path=${schema} ${LAZY}` });
  /** Functions by queue, each of which adds a job in one batch with jobs added at the same time: 600 jobs took 60 ms, and 330 ms one by one. */
  const batchers = new Map<string, (job: NewJob) => Promise<void>>();
  const messages = createChannels(connectionString, `gantry.${prefix}`, producers, {
    ...{ logger, warn },
    answerMs: config.answerMs,
  });

  function openQueue(name: string): Queue {
    let queue = queues.get(name);
    if (!queue) {
      queue = new classes.Queue(name, {
        connection: producers as unknown as PgPool,
        settings: timerSettings,
      }) as unknown as Queue;
      queue.on('error', (error) => warn(error, 'a queue does not work', { queue: name }));
      queue.waitUntilReady().catch(() => queues.delete(name));
      queues.set(name, queue);
    }
    return queue;
  }

  async function addBatch(name: string, jobs: readonly NewJob[]): Promise<void> {
    const queue = openQueue(name);
    if (jobs.length > FEW_JOBS) await queue.addBulk([...jobs]);
    else await Promise.all(jobs.map((job) => queue.add(job.name, job.data, job.opts)));
  }

  function addBatched(name: string, job: NewJob): Promise<void> {
    const known = batchers.get(name);
    if (known) return known(job);
    const add = createBatcher<NewJob, void>(async (jobs) => {
      await addBatch(name, jobs);
      return jobs.map(() => undefined);
    });
    batchers.set(name, add);
    return add(job);
  }

  function socketAdapter() {
    const sending = open(1, { answerMs: SEND_MS });
    const pool = createSocketPool(open(1), sending);
    socketPools.push({ pool, sending });
    return createAdapter(pool as unknown as pg.Pool, {
      channelPrefix: `${prefix}.io`,
      tableName: 'socket_io_attachments',
      errorHandler: (error) => warn(error, 'the socket adapter does not work'),
    });
  }

  return {
    kind: 'postgres',
    queue: openQueue,
    async add(name, jobs) {
      const [first, ...others] = jobs;
      if (first && others.length === 0 && !isLarge(first)) await addBatched(name, first);
      else await addBatch(name, jobs);
    },
    setTimer: (name, id, timer) => setTimer(openQueue(name), id, timer),
    removeTimer: async (name, id) => void (await openQueue(name).removeJobScheduler(id)),
    removeEnded: (name, ids) => removeEndedJobs(openQueue(name), ids),
    worker(name, process, options) {
      const settings = workerSettings(options);
      // One of the connections listens. If BullMQ opened it on a pool of its own, it would listen for its errors a moment too late.
      const connection = open(options.hasFewJobs ? 2 : 3, {
        options: `-c search_path=${schema} ${LAZY}`,
        application_name: `gantry.${prefix}.worker`,
      });
      pauseAfterLargeJobs(connection);
      return startedAgain(() => {
        const worker = new classes.Worker(name, (job, _token, signal) => process(job as never, signal), {
          connection: connection as unknown as PgPool,
          ...settings,
          settings: timerSettings,
        }) as unknown as Worker;
        worker.on('error', (error) => warn(error, 'a consumer does not work', { queue: name }));
        return worker;
      });
    },
    adapter: socketAdapter,
    // A full adapter: on Postgres adapters find each other by heartbeats, so the others would wait for answers of one that only sends.
    sendingAdapter: socketAdapter,
    messages,
    limiter(limit) {
      const { name, points, seconds: duration } = limit;
      const store = new RateLimiterPostgres({
        storeClient: producers,
        storeType: 'pool',
        schemaName: 'public',
        tableName: 'rate_limit',
        // A migration creates the table, and the sweep clears it.
        tableCreated: true,
        clearExpiredByTimeout: false,
        keyPrefix: `${prefix}.limit.${name}`,
        points,
        duration,
      });
      const limiter = createLimiter(store, limit, logger);
      limiters.push(limiter);
      return limiter;
    },
    pools() {
      const [sockets] = socketPools;
      return { backplane: producers, ...(sockets && { 'backplane.sockets': sockets.sending }) };
    },
    async ping() {
      await producers.query('select 1');
    },
    async sentinel() {
      const { rows } = await producers.query<{ value: string }>(
        `select value #>> '{}' as value from public.service_state where key = 'queues'`,
      );
      return rows[0]?.value ?? null;
    },
    async markAlive(sentinel) {
      await producers.query(
        `insert into public.service_state (key, value) values ('queues', to_jsonb($1::text)) on conflict (key) do update set value = excluded.value, updated_at = now()`,
        [sentinel],
      );
    },
    async migrate() {
      const client = await producers.connect();
      try {
        // Unlike jobs, the schema must outlive a crash of Postgres.
        await client.query('set synchronous_commit = on');
        await runMigrations(client as never, schema);
      } finally {
        client.release(true);
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      watch?.[Symbol.dispose]();
      await messages.close();
      await Promise.allSettled([...queues.values(), ...limiters].map((part) => part?.close()));
      for (const { pool } of socketPools) pool.close();
      await Promise.allSettled([...pools].map(([pool, taken]) => endPool(pool, taken)));
    },
  };
}

function isLarge({ data }: NewJob): boolean {
  const length = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).length;
  return Object.values(data).some((value) => length(value) > LARGE_JOB);
}

/**
 * A consumer whose BullMQ worker is created again until it is connected. BullMQ remembers for ever that the first connection failed: a
 * worker that was started while Postgres restarted would poll in an endless loop and never get a job. For the same reason `openQueue`
 * drops a queue that did not get ready.
 */
function startedAgain(open: () => Worker): JobWorker {
  let worker = open();
  let isEnding = false;

  return {
    async run() {
      while (!isEnding && !(await isReady(worker))) {
        await worker.close(true).catch(() => undefined);
        await sleep(500);
        worker = open();
      }
      if (!isEnding) await worker.run();
    },
    pause(doNotWait) {
      isEnding = true;
      return worker.pause(doNotWait);
    },
    close(force) {
      isEnding = true;
      return worker.close(force);
    },
  };
}

function isReady(worker: Worker): Promise<boolean> {
  return worker.waitUntilReady().then(
    () => true,
    () => false,
  );
}

/**
 * Lets other work run between reading a job with a large field and what BullMQ does with it. For a request of five megabytes these take
 * 6 and 17 ms.
 */
function pauseAfterLargeJobs(pool: pg.Pool): void {
  const query: (text: string, values?: unknown[]) => Promise<pg.QueryResult<{ data?: Record<string, unknown> }>> =
    pool.query.bind(pool);
  pool.query = (async (text: string, values?: unknown[]) => {
    const result = await query(text, values);
    if (result.rows.some(({ data }) => hasLongText(data))) await yieldToEventLoop();
    return result;
  }) as pg.Pool['query'];
}

function hasLongText(data: Record<string, unknown> = {}): boolean {
  return Object.values(data).some((value) => typeof value === 'string' && value.length > LARGE_TEXT);
}

/** Ends a pool even if a connection is never released: a socket adapter that is closed while it opens a connection forgets it. */
async function endPool(pool: pg.Pool, taken: ReadonlySet<pg.PoolClient>): Promise<void> {
  const ended = pool.end();
  const timer = setInterval(() => {
    for (const client of taken) {
      client.removeAllListeners('end');
      client.release(true);
    }
  }, 500);
  await ended;
  clearInterval(timer);
}
