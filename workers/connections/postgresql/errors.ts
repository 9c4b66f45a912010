import pg from 'pg';
import { AppError } from '#shared/core/errors.ts';
import { type Reason, reasonOf, upstreamError, withDetails } from '../../outbound/upstream-error.ts';
import type { PostgresEndpoint } from './endpoint.ts';

interface CheckedOutConnection {
  readonly isOpen: boolean;
  readonly where: string;
}

/** Runs the work and turns its errors into ones for the tenant: messages of the server, without details of the connection. */
export function readably<C extends CheckedOutConnection, T>(
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

function usableError(error: unknown, connection: CheckedOutConnection): unknown {
  if (error instanceof AppError) return error;
  const known = statementError(error);
  if (known) return known;
  // While the connection is open, another error is a fault of our own.
  if (connection.isOpen && !(error instanceof pg.DatabaseError)) return error;
  return withDetails(upstreamError(reasonOf(error) ?? 'lost', connection.where, error), { sent: true });
}

/** The server's error about a statement; undefined for errors of the connection and of the driver. */
export function statementError(error: unknown, sql?: string): AppError | undefined {
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

/** Reason of a failed sign-in. Uses the code alone: the message could come from any program that answers. */
export function connectError(
  error: unknown,
  { where }: Pick<PostgresEndpoint, 'where'>,
  signal: AbortSignal,
): AppError {
  if (signal.aborted) return upstreamError('timeout', where, error);
  if (error instanceof AppError) return error;
  const code = error instanceof pg.DatabaseError ? (error.code ?? '') : '';
  const isUnfit = error instanceof Error && /password must be|SASL/.test(error.message);
  const reason = byCode[code] ?? reasonOf(error) ?? (isUnfit ? 'authentication' : 'refused');
  return upstreamError(reason, where, error);
}

/** Whether the server may accept the connection with another encryption: the code of "no entry in pg_hba.conf". */
export function isForThisEncryption(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '28000';
}
