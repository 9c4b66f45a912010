import type { Job, Queue, Worker } from 'bullmq';
import type { ServerOptions } from 'socket.io';

export type JobQueue = Queue;
/** A consumer, of one or several of BullMQ's workers. */
export type JobWorker = Pick<Worker, 'run' | 'pause' | 'close'>;
export type NewJob = Parameters<Queue['addBulk']>[0][number];
export type ProcessJob = (job: Job, signal: AbortSignal | undefined) => Promise<unknown>;

export interface WorkerOptions {
  concurrency: number;
  maxStalledCount: number;
  leaseMs: number;
}

/** Small messages between processes of one deployment. At most once: whoever relies on one also has a poll. */
export interface Messages {
  publish(channel: string, message: unknown): Promise<void>;
  /** Answers with the function that ends the subscription. */
  subscribe(channel: string, listener: (message: unknown) => void): () => void;
}

/** So many points in so many seconds for each key, counted over all processes of a deployment. */
export interface Limit {
  /** Whose count it is: limits of the same name share it. */
  name: string;
  points: number;
  seconds: number;
  /** When the store does not answer: each process counts for itself, or nothing passes (UNAVAILABLE). */
  whenAway: 'countHere' | 'refuse';
}

export interface Allowance {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Until the count begins anew. */
  resetSeconds: number;
}

export interface Limiter {
  /** Counts first, so that of many at once no more pass than may. A key is at most 128 characters. */
  consume(key: string, points?: number): Promise<Allowance>;
  /** Forgets what was counted for a key. */
  reset(key: string): Promise<void>;
}

/** Queues, sockets, messages, limits: over Redis or over Postgres, and nothing else in the code asks which. */
export interface Backplane extends AsyncDisposable {
  readonly kind: 'redis' | 'postgres';
  /** The producer's side of a queue; one per name, closed with the backplane. */
  queue(name: string): JobQueue;
  /** Adds jobs to a queue, all or none, in one round trip. */
  add(name: string, jobs: readonly NewJob[]): Promise<void>;
  /** A consumer; whoever makes it closes it. A job whose consumer is silent for `leaseMs` is given to another. */
  worker(name: string, process: ProcessJob, options: WorkerOptions): JobWorker;
  /** For `new Server({ adapter })`. */
  adapter(): NonNullable<ServerOptions['adapter']>;
  readonly messages: Messages;
  /** One for each thing that is limited, kept by whoever asks it; requests of all processes count together. */
  limiter(limit: Limit): Limiter;
  /** Rejects when the backplane does not answer. */
  ping(): Promise<void>;
  /**
   * The uuid written by `markAlive`, or null when the backplane has lost its memory. On Postgres the queues live and die
   * with the rows, so the answer is whatever was marked.
   */
  sentinel(): Promise<string | null>;
  markAlive(sentinel: string): Promise<void>;
  /** Prepares what the queues need in storage; idempotent. */
  migrate(): Promise<void>;
}
