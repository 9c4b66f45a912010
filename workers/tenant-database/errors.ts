import pg from 'pg';
import { AppError } from '#shared/errors.ts';

/** The server ends the connection, or is about to. */
const gone = new Set(['57P01', '57P02', '57P03', '08000', '08003', '08006', '25P03', '25P04', '57P05']);

/** What a tenant's database said, for the tenant. What it says in words is the tenant's own; nothing of the connection is in it. */
export function toDatabaseError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  if (error instanceof pg.DatabaseError && error.code && !gone.has(error.code)) return ofServer(error, error.code);
  if (error instanceof pg.DatabaseError || isLost(error))
    return new AppError(
      'UPSTREAM_FAILED',
      'The connection to the database was lost; whether the statement under way took effect is unknown',
      { cause: error, retry: false, details: { reason: 'lost' } },
    );
  return error;
}

function ofServer(error: pg.DatabaseError, code: string): AppError {
  const { message, position, column, constraint, table, schema, detail, hint } = error;
  const details = Object.fromEntries(
    Object.entries({
      postgres_code: code,
      position: position === undefined ? undefined : Number(position),
      column,
      constraint,
      table,
      schema,
      detail,
      hint,
    }).filter(([, value]) => value !== undefined),
  );
  if (code === '57014')
    return new AppError('UPSTREAM_TIMEOUT', 'The statement took longer than it may and was cancelled', {
      cause: error,
      retry: false,
      details,
    });
  return new AppError('DB_ERROR', message, { cause: error, details });
}

function isLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : undefined;
  if (['ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(String(code))) return true;
  // The driver's own errors have no code.
  return /Connection terminated|is not queryable|Connection ended/.test(error.message);
}
