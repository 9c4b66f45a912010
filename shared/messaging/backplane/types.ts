import type { Job, Queue, Worker } from 'bullmq';
import type { ServerOptions } from 'socket.io';
import { calendarOf } from '../../core/cron-calendar.ts';
import type { PoolState } from '../../core/metrics.ts';

export interface RedisConfig {
  url: string;
  sentinels: { host: string; port: number }[];
  sentinelMaster: string;
}

export interface BackplaneConfig {
  prefix: string;
  /** Present: queues, sockets and messages go over Redis. Absent: over Postgres. */
  redis?: RedisConfig | undefined;
  databaseURL: string;
  /** See `limitAnswers`. */
  answerMs?: number;
}

export type JobQueue = Queue;
/** A consumer of a queue, made of one or several BullMQ workers. */
export type JobWorker = Pick<Worker, 'run' | 'pause' | 'close'>;
export type NewJob = Parameters<Queue['addBulk']>[0][number];
export type ProcessJob = (job: Job, signal: AbortSignal | undefined) => Promise<unknown>;

export interface WorkerOptions {
  concurrency: number;
  maxStalledCount: number;
  leaseMs: number;
  /** See `QueueDefinition`. */
  hasFewJobs?: boolean | undefined;
}

/**
 * Settings of a BullMQ worker. Checked here, because Redis accepts whole numbers only and refuses others late: with an interval of
 * 2666.67 ms it refused every search for jobs whose lock had expired.
 */
export function workerSettings({ concurrency, maxStalledCount, leaseMs }: WorkerOptions) {
  const settings = {
    concurrency,
    maxStalledCount,
    lockDuration: leaseMs,
    lockRenewTime: Math.round(leaseMs / 2),
    /** How often a consumer looks for jobs whose lock has expired. */
    stalledInterval: Math.max(1000, Math.round(leaseMs / 3)),
    /** Pause after a connection was refused. By default it is 15 s, for which a consumer would idle after a restart of Postgres. */
    runRetryDelay: 1_000,
  };
  for (const [name, value] of Object.entries(settings))
    if (!Number.isSafeInteger(value) || value < (name === 'maxStalledCount' ? 0 : 1))
      throw new Error(`${name} of a queue must be a whole number, not ${value}`);
  return { ...settings, autorun: false };
}

/** See `Backplane.removeEnded`. */
export async function removeEndedJobs(queue: JobQueue, ids: readonly string[]): Promise<void> {
  const remove = async (id: string) => {
    const job = await queue.getJob(id);
    if (job?.finishedOn) await job.remove();
  };
  await Promise.all(ids.map(remove));
}

/** A timer that adds a job at every tick of an expression. */
export interface Timer {
  expression: string;
  timezone: string;
  payload: object;
}

/** See `Backplane.setTimer`. */
export async function setTimer(queue: JobQueue, id: string, { expression, timezone, payload }: Timer): Promise<void> {
  const opts = { attempts: 1, removeOnComplete: true, removeOnFail: true };
  await queue.upsertJobScheduler(id, { pattern: expression, tz: timezone }, { name: queue.name, data: payload, opts });
}

/** Makes BullMQ compute the next time of a timer by the calendar that `nextTick` uses, so that timers and ticks agree. */
export const timerSettings = {
  repeatStrategy: (ms: number, { pattern = '', tz = 'UTC' }: { pattern?: string; tz?: string }) =>
    calendarOf(pattern, tz).next(ms),
};

/** Small messages between processes of one deployment. Delivered at most once, so a subscriber also polls. */
export interface Messages {
  publish(channel: string, message: unknown): Promise<void>;
  /** Returns a function that ends the subscription. */
  subscribe(channel: string, listener: (message: unknown) => void): () => void;
}

/** A rate limit: points per key in a number of seconds, counted over all processes of a deployment. */
export interface Limit {
  /** Limits with the same name share their counts. */
  name: string;
  points: number;
  seconds: number;
  /** If the store does not answer: each process counts locally, or all calls are refused (UNAVAILABLE). */
  whenAway: 'countHere' | 'refuse';
  /** If present, each process counts by itself and adds to the shared count at this interval. Absent: every call counts in the store. */
  addEveryMs?: number;
}

export interface Allowance {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Seconds until the count restarts. */
  resetSeconds: number;
}

export interface Limiter {
  /** Counts before it allows, so that concurrent calls cannot exceed the limit. A key has at most 128 characters. */
  consume(key: string, points?: number): Promise<Allowance>;
  /** Deletes the count of a key. */
  reset(key: string): Promise<void>;
  /** Adds what this process has counted to the shared count. Called by the backplane, before its connections end. */
  close(): Promise<void>;
}

/** Queues, sockets, messages and rate limits over Redis or Postgres. No other code depends on which of the two it is. */
export interface Backplane extends AsyncDisposable {
  readonly kind: 'redis' | 'postgres';
  /** The producer's side of a queue; one per name, closed with the backplane. */
  queue(name: string): JobQueue;
  /** Adds jobs to a queue. When it rejects, some of them may have been added all the same. */
  add(name: string, jobs: readonly NewJob[]): Promise<void>;
  /** Removes the jobs with these ids that have ended and are retained for the board. */
  removeEnded(name: string, ids: readonly string[]): Promise<void>;
  /** Adds a job at every tick of an expression; a second timer with this id replaces the first. */
  setTimer(name: string, id: string, timer: Timer): Promise<void>;
  removeTimer(name: string, id: string): Promise<void>;
  /** Creates a consumer, which the caller closes. A job goes to another consumer after `leaseMs` without a heartbeat. */
  worker(name: string, process: ProcessJob, options: WorkerOptions): JobWorker;
  /** For `new Server({ adapter })`. */
  adapter(): NonNullable<ServerOptions['adapter']>;
  /** Like `adapter`, for a process that has no sockets and only sends: on Redis it does not receive the messages of other processes. */
  sendingAdapter(): NonNullable<ServerOptions['adapter']>;
  readonly messages: Messages;
  /** Creates a limiter, which the caller stores and reuses. Requests of all processes count together. */
  limiter(limit: Limit): Limiter;
  /** Connections, by use. On Redis all of them are in use; those that are not connected count as waiting. */
  pools(): Readonly<Record<string, PoolState>>;
  /** Rejects when the backplane does not answer. */
  ping(): Promise<void>;
  /**
   * The uuid written by `markAlive`, or null if the backplane has lost its data. On Postgres the queues are lost only together
   * with the rows, so this is always the uuid that was written.
   */
  sentinel(): Promise<string | null>;
  markAlive(sentinel: string): Promise<void>;
  /** Prepares what the queues need in storage; idempotent. */
  migrate(): Promise<void>;
}
