import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import { AppError } from '#shared/core/errors.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';
import type { Contention } from './contention.ts';

interface Opening {
  /** Name of the server. */
  server: string;
  flow: FlowKey;
  signal: AbortSignal;
  open(signal: AbortSignal): Promise<PostgresConnection>;
}

/** Average pause between two attempts. */
const BUSY_MS = 100;

/**
 * Opens a connection; waits while the server has none left, because all workers together want more than it allows. The workers then
 * close idle connections, and in each worker a fair queue of the tenants decides whose attempt is next.
 */
export async function openFairly(
  contention: Contention,
  { server, flow, signal, open }: Opening,
): Promise<PostgresConnection> {
  const retries = contention.retriesOf(server);
  const announce = () => contention.announce(server);
  let refused: unknown;
  if (retries.used === 0) {
    try {
      return await open(signal);
    } catch (error) {
      // A limit of a role or a database concerns no other tenant.
      if (!isServerFull(error)) return await untilAllowed({ refused: error, open, signal });
      announce();
      refused = error;
    }
  }
  const release = await retries.acquirePermit(flow, signal);
  if (!release) throw noConnectionFree(refused ?? signal.reason);
  try {
    return await untilAllowed({ open, signal, onFull: announce });
  } finally {
    release();
  }
}

interface Attempts extends Pick<Opening, 'open' | 'signal'> {
  /** Error of the attempt before. */
  refused?: unknown;
  onFull?(): void;
}

/** Tries again while the server refuses for a lack of connections, or because it is starting. */
async function untilAllowed({ refused, open, signal, onFull }: Attempts): Promise<PostgresConnection> {
  for (let error = refused; ; ) {
    if (error !== undefined) {
      if (refusalOf(error) !== 'busy') throw error;
      if (isServerFull(error)) onFull?.();
      await sleep(BUSY_MS * (0.5 + Math.random()));
      if (signal.aborted) throw error;
    }
    try {
      return await open(signal);
    } catch (again) {
      error = again;
    }
  }
}

/**
 * Functions of Postgres that refuse because a role or a database, and not the server, has reached its limit of connections. The text of
 * the error does not tell, since it is in the server's language.
 */
const LIMITS_OF_ONE = new Set(['InitializeSessionUserId', 'CheckMyDatabase']);

function isServerFull(error: unknown): boolean {
  const cause = error instanceof AppError ? error.cause : undefined;
  return cause instanceof pg.DatabaseError && cause.code === '53300' && !LIMITS_OF_ONE.has(cause.routine ?? '');
}

/** Why the connection was refused. */
export function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof AppError)) return undefined;
  return (error.details as { reason?: string } | undefined)?.reason;
}

export function noConnectionFree(cause: unknown): AppError {
  return new AppError(
    'UPSTREAM_TIMEOUT',
    "All connections to the server of the tenant's database were taken; nothing was done",
    { cause, details: { begun: false } },
  );
}
