import pg from 'pg';
import { isConnectionError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';

export type { Pool, PoolClient } from 'pg';

// int8 arrives as text by default; every bigint of ours (seq, policy_version) stays far below 2^53.
pg.types.setTypeParser(20, Number);

/**
 * Every statement of ours finds its rows by index. If a table has grown since its last ANALYZE, the planner takes it for small and reads it
 * whole, and a prepared statement keeps that plan: in measurements the engine's steps then became slower with every stored run. Plain index
 * scans, unlike bitmap scans, also mark the dead entries that a queue leaves behind, so that later scans skip them.
 */
const PLANNER = '-c enable_seqscan=off -c enable_bitmapscan=off -c enable_mergejoin=off -c jit=off';

/** Plans a prepared statement once per connection, and not again for each list of parameters. */
const ONE_PLAN = '-c plan_cache_mode=force_generic_plan';

export interface DatabaseConfig {
  url: string;
  poolSize: number;
  /** See `limitAnswers`. */
  answerMs?: number;
}

/** Creates a pool for our own SQL statements, in addition to the pool of the entity manager. */
export function createPool(
  config: DatabaseConfig,
  logger: Logger,
  options: { max?: number; name?: string; settings?: string; answerMs?: number; idleMs?: number } = {},
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: config.url,
    max: options.max ?? config.poolSize,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: options.idleMs ?? 30_000,
    keepAlive: true,
    application_name: options.name ?? 'gantry',
    options: `${PLANNER} ${options.settings ?? ''}`,
  });
  surviveLostConnections(pool, (error) => logger.warn({ err: error }, 'database connection lost'));
  if (options.answerMs) limitAnswers(pool, options.answerMs);
  return pool;
}

/**
 * Treats a connection as dead if a statement gets no answer within `answerMs`, and closes the idle connections of the pool together with it.
 * A failover, or a balancer that forgets its connections, leaves all of them open and silent. TCP would notice after a quarter of an hour,
 * and never behind a proxy that acknowledges what it cannot pass on. Whether the statement had an effect is unknown.
 */
export function limitAnswers(pool: pg.Pool, answerMs: number): void {
  pool.options.query_timeout = answerMs;
  pool.on('release', (error) => {
    if (!isWithoutAnswer(error)) return;
    for (let left = pool.idleCount; left > 0; left -= 1) pool.connect((_failure, client) => client?.release(true));
  });
}

function isWithoutAnswer(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/**
 * Keeps the process alive when a connection of the pool breaks: the next query opens another. The pool listens for errors of idle
 * connections only; the error of one that is checked out, between two statements of a transaction, would be an uncaught exception.
 */
export function surviveLostConnections(pool: pg.Pool, report: (error: Error) => void): void {
  pool.on('connect', (client) => client.on('error', report));
  // An idle connection has reported it already.
  pool.on('error', () => undefined);
}

/**
 * A pool for claiming, dispatching and waking runs. These statements do not wait for the disk: if Postgres loses them in a
 * crash, the fence and the sweep repair it, and the next commit makes an earlier claim durable. They use one plan for any
 * number of ids: planning for each number would almost double the cost of a claim (0.17 ms in addition to 0.20 ms).
 */
export function createDispatchPool(config: DatabaseConfig, logger: Logger, name: string): pg.Pool {
  return createPool(config, logger, {
    max: 3,
    name: `${name}.dispatch`,
    settings: `-c synchronous_commit=off ${ONE_PLAN}`,
    ...(config.answerMs && { answerMs: config.answerMs }),
  });
}

/**
 * A pool for the commits of a worker, which use one plan for any number of steps. Postgres otherwise plans most commits of few steps
 * anew, since a list that it knows to be short looks cheaper than one of unknown length: in a table with statistics such a commit took
 * 2.7 ms, and takes 1.1 ms with one plan. Idle connections stay open, because each connection has plans of its own.
 */
export function createCommitPool(config: DatabaseConfig, logger: Logger, name: string): pg.Pool {
  return createPool(config, logger, {
    max: 3,
    name: `${name}.commit`,
    idleMs: 0,
    settings: ONE_PLAN,
    ...(config.answerMs && { answerMs: config.answerMs }),
  });
}

/**
 * A pool for the lease of a worker and for the lead of the sweep, with connections of its own: a renewal must not wait for the reads
 * of a hundred runs. In a network that swallows packets a query without a limit would wait for minutes after the network is back.
 */
export function createLeasePool(config: DatabaseConfig, logger: Logger, name: string, leaseMs: number): pg.Pool {
  return createPool(config, logger, {
    max: 2,
    name: `${name}.lease`,
    answerMs: Math.round(Math.max(500, leaseMs / 6)),
  });
}

/**
 * Whether the database has refused a statement for its data (classes 22, 23 and 54), and so has changed nothing; after a broken
 * connection, for example, that is unknown.
 */
export function isRefusedStatement(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^(22|23|54)/.test(code);
}

/**
 * Whether an error comes from temporary trouble of a connection or a server: a restart, a failover to a standby that cannot write yet, a full
 * disk, a deadlock, a lock or statement timeout. Any other error is of the data, or of our own code, and would come again.
 */
export function mayPass(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return isConnectionError(error) || /^(08|40|53|57|58|25006|55P03)/.test(code);
}

/** Runs `work` in a transaction of its own on one connection. */
export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    // The connection gives no answer: a rollback would wait as long again.
    if (isWithoutAnswer(error)) broken = error as Error;
    else
      await client.query('rollback').catch((failure: Error) => {
        broken = failure;
      });
    throw error;
  } finally {
    client.release(broken);
  }
}
