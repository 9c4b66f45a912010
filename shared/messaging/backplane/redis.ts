import { createAdapter } from '@socket.io/redis-adapter';
import { Queue, Worker } from 'bullmq';
import { Redis, type RedisOptions } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { Namespace } from 'socket.io';
import type { Logger } from '../../core/logger.ts';
import { createThrottledWarning } from '../../core/throttled-warning.ts';
import { endingRedis } from './ending-redis.ts';
import { createLimiter } from './limiter.ts';
import { createSubscriptions } from './subscriptions.ts';
import type { BackplaneConfig, RedisConfig } from './types.ts';
import {
  type Backplane,
  type JobWorker,
  type Limiter,
  type ProcessJob,
  removeEndedJobs,
  setTimer,
  timerSettings,
  type WorkerOptions,
  workerSettings,
} from './types.ts';

/** Time limit of an answer. After that the command fails and its connection is opened again, so that commands do not pile up. */
const SILENCE_MS = 5_000;

/** Interval at which a closing consumer checks whether Redis still answers. */
const CLOSING_PING_MS = 3_000;

/** Backplane for production, on standalone Redis or Sentinel. */
export function createRedisBackplane(config: BackplaneConfig, redis: RedisConfig, logger: Logger): Backplane {
  const clients: Redis[] = [];
  const queues = new Map<string, Queue>();
  const limiters: Limiter[] = [];
  const { prefix } = config;
  const warnRarely = createThrottledWarning(logger);
  let isClosed = false;
  const warn: typeof warnRarely = (...warning) => {
    // Connections that are closed on purpose report an error too.
    if (!isClosed) warnRarely(...warning);
  };

  function connect(options: RedisOptions): Redis {
    const client = openRedis(redis, options);
    client.on('error', (error) => warn(error, 'a connection to Redis broke'));
    clients.push(client);
    return client;
  }

  /**
   * Opens a connection for the socket adapter, which does not handle rejections of its commands. Unhandled, they would end a process that is
   * stopped while it connects, or while Redis is away, with exit code 1 before it has handed back its work.
   */
  function connectAdapter(): Redis {
    const client = connect({ maxRetriesPerRequest: null });
    const send = client.sendCommand.bind(client);
    client.sendCommand = (command, stream) => {
      command.promise.catch(() => undefined);
      return send(command, stream);
    };
    return client;
  }

  // Commands of the producer fail soon after Redis is gone, also if it is only silent: TCP would wait for a quarter of an hour, and the sweep
  // with it. `maxRetriesPerRequest` alone does not end commands that were sent already. No work is lost: its record is a row in Postgres.
  const producer = connect({
    maxRetriesPerRequest: 1,
    connectTimeout: 2000,
    commandTimeout: SILENCE_MS,
    socketTimeout: SILENCE_MS,
  });
  const subscriber = connect({ maxRetriesPerRequest: null });
  const subscriptions = createSubscriptions(logger);
  subscriber.on('message', (channel: string, text: string) =>
    subscriptions.deliver(channel.slice(prefix.length + 1), text),
  );

  function openQueue(name: string): Queue {
    let queue = queues.get(name);
    if (!queue) {
      queue = new Queue(name, {
        connection: producer,
        prefix,
        skipWaitingForReady: true,
        // BullMQ asks once for the version. Without an answer, because Redis is away, the queue would fail for as long as the process lives.
        skipVersionCheck: true,
        streams: { events: { maxLen: 100 } },
        settings: timerSettings,
      });
      queue.on('error', (error) => warn(error, 'a queue does not work', { queue: name }));
      queues.set(name, queue);
    }
    return queue;
  }

  function openWorker(name: string, process: ProcessJob, options: WorkerOptions): JobWorker {
    const connection = connect({ maxRetriesPerRequest: null });
    const worker = new Worker(name, (job, _token, signal) => process(job, signal), {
      connection,
      prefix,
      ...workerSettings(options),
      settings: timerSettings,
    });
    worker.on('error', (error) => warn(error, 'a consumer does not work', { queue: name }));
    return {
      run: () => worker.run(),
      pause: (doNotWait) => worker.pause(doNotWait),
      async close(force) {
        // While Redis is away, closing would wait for the replies to its commands. The jobs are released when their locks expire.
        const check = () => void producer.ping().catch(() => connection.disconnect());
        const timer = setInterval(check, CLOSING_PING_MS);
        await worker.close(force).finally(() => clearInterval(timer));
      },
    };
  }

  function socketAdapter() {
    return createAdapter(connectAdapter(), connectAdapter(), { key: `${prefix}.io`, requestsTimeout: 5000 });
  }

  return {
    kind: 'redis',
    queue: openQueue,
    async add(name, jobs) {
      await openQueue(name).addBulk([...jobs]);
    },
    setTimer: (name, id, timer) => setTimer(openQueue(name), id, timer),
    removeTimer: async (name, id) => void (await openQueue(name).removeJobScheduler(id)),
    removeEnded: (name, ids) => removeEndedJobs(openQueue(name), ids),
    worker(name, process, options) {
      // A BullMQ worker fetches jobs one after the other: with one worker, one slot in five is empty when runs are short.
      const { concurrency } = options;
      const workers = [Math.ceil(concurrency / 2), Math.floor(concurrency / 2)]
        .filter((share) => share > 0)
        .map((share) => openWorker(name, process, { ...options, concurrency: share }));
      return {
        run: async () => void (await Promise.all(workers.map((worker) => worker.run()))),
        pause: async (doNotWait) => void (await Promise.all(workers.map((worker) => worker.pause(doNotWait)))),
        close: async (force) => void (await Promise.all(workers.map((worker) => worker.close(force)))),
      };
    },
    adapter: socketAdapter,
    sendingAdapter() {
      const create = socketAdapter();
      // No arrow function: a server calls it with `new`.
      return function sendingAdapter(namespace: Namespace) {
        const adapter = create(namespace);
        // Closing only ends the subscriptions; sending uses the other connection.
        void adapter.close();
        return adapter;
      };
    },
    messages: {
      async publish(channel, message) {
        await producer.publish(`${prefix}.${channel}`, JSON.stringify(message));
      },
      subscribe(channel, listener) {
        if (subscriptions.add(channel, listener)) subscriber.subscribe(`${prefix}.${channel}`).catch(() => undefined);
        return () => subscriptions.remove(channel, listener);
      },
    },
    limiter(limit) {
      const { name, points, seconds: duration } = limit;
      const keyPrefix = `${prefix}.limit.${name}`;
      const store = new RateLimiterRedis({ storeClient: producer, keyPrefix, points, duration });
      const limiter = createLimiter(store, limit, logger);
      limiters.push(limiter);
      return limiter;
    },
    pools() {
      const waitingCount = clients.filter(({ status }) => status !== 'ready').length;
      return { backplane: { totalCount: clients.length, idleCount: 0, waitingCount } };
    },
    async ping() {
      await producer.ping();
    },
    sentinel: () => producer.get(`${prefix}.alive`),
    async markAlive(sentinel) {
      await producer.set(`${prefix}.alive`, sentinel);
    },
    async migrate() {},
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await Promise.allSettled([...queues.values(), ...limiters].map((part) => part.close()));
      for (const client of clients) client.disconnect();
    },
  };
}

/** Tries once to use the Redis; rejects with the connection's first error, which the errors of commands would hide. */
export async function probeRedis(redis: RedisConfig, timeoutMs: number): Promise<void> {
  await askOnce(redis, timeoutMs, (client) => client.ping());
}

/** Reads the status report of the Redis (INFO). */
export function readRedisInfo(redis: RedisConfig, timeoutMs: number): Promise<string> {
  return askOnce(redis, timeoutMs, (client) => client.info());
}

async function askOnce(
  redis: RedisConfig,
  timeoutMs: number,
  ask: (client: Redis) => Promise<string>,
): Promise<string> {
  const client = openRedis(redis, {
    lazyConnect: true,
    connectTimeout: timeoutMs,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
  });
  const { promise: failed, reject } = Promise.withResolvers<never>();
  client.on('error', reject);
  const timer = setTimeout(() => reject(new Error('timeout expired')), timeoutMs);
  try {
    return await Promise.race([failed, client.connect().then(() => ask(client))]);
  } finally {
    clearTimeout(timer);
    client.disconnect();
  }
}

function openRedis(redis: RedisConfig, options: RedisOptions): Redis {
  const common: RedisOptions = { retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 6), 1000), ...options };
  if (redis.sentinels.length === 0) return endingRedis(new Redis(redis.url, common));
  const { username, password, pathname } = new URL(redis.url);
  const client = new Redis({
    ...common,
    sentinels: redis.sentinels,
    name: redis.sentinelMaster,
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    db: Number(pathname.slice(1) || 0),
  });
  return endingRedis(client);
}
