import pg from 'pg';
import { AppError } from '#shared/errors.ts';
import { type Reason, reasonOf, upstreamError, withDetails } from '../outbound/upstream-error.ts';
import type { Target } from './target.ts';

interface LentConnection {
  readonly isOpen: boolean;
  readonly where: string;
}

/** The work, with errors that a tenant can read. What a server says is the tenant's own; nothing of the connection is in it. */
export function readably<C extends LentConnection, T>(
  work: (connection: C) => Promise<T>,
): (connection: C) => Promise<T> {
  return async (connection) => {
    try {
      return await work(connection);
    } catch (error) {
      throw usableError(error, connection);
    }
  };
}

function usableError(error: unknown, connection: LentConnection): unknown {
  if (error instanceof AppError) return error;
  const refusal = refusalOf(error);
  if (refusal) return refusal;
  // With the connection whole, the fault is ours.
  if (connection.isOpen && !(error instanceof pg.DatabaseError)) return error;
  return withDetails(upstreamError(reasonOf(error) ?? 'lost', connection.where, error), { sent: true });
}

/** What the server has against a statement; undefined when it is about the connection, or no word of the server's. */
export function refusalOf(error: unknown, sql?: string): AppError | undefined {
  if (!(error instanceof pg.DatabaseError) || endsConnection(error)) return undefined;
  const { code, detail, hint, position, schema, table, column, constraint } = error;
  const at = position === undefined ? undefined : Number(position);
  const line = at === undefined ? undefined : sql?.slice(0, at).split('\n').length;
  const known = { postgres_code: code, line, position: at, detail, hint, schema, table, column, constraint };
  const details = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
  if (code === '57014')
    return new AppError('UPSTREAM_TIMEOUT', 'The statement took longer than it may and was cancelled', {
      cause: error,
      retry: false,
      details,
    });
  return new AppError('DB_ERROR', error.message, { cause: error, details });
}

/** Server shutdown, administrator termination or idle timeout. */
function endsConnection({ severity, code = '' }: pg.DatabaseError): boolean {
  return severity === 'FATAL' || severity === 'PANIC' || /^57P|^25P0[34]$/.test(code);
}

const byCode: Readonly<Record<string, Reason>> = {
  '28P01': 'authentication',
  '28000': 'authentication',
  '3D000': 'not-found',
  '53300': 'busy',
  '57P03': 'busy',
};

/** Why nobody was let in. From the code alone: what answers may say whatever it wants a tenant to read. */
export function connectError(error: unknown, { where }: Pick<Target, 'where'>, signal: AbortSignal): AppError {
  if (signal.aborted) return upstreamError('timeout', where, error);
  if (error instanceof AppError) return error;
  const code = error instanceof pg.DatabaseError ? (error.code ?? '') : '';
  const isUnfit = error instanceof Error && /password must be|SASL/.test(error.message);
  const reason = byCode[code] ?? reasonOf(error) ?? (isUnfit ? 'authentication' : 'refused');
  return upstreamError(reason, where, error);
}

/** "No entry in pg_hba.conf" for a connection with, or without, encryption. */
export function isForThisEncryption(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '28000';
}
