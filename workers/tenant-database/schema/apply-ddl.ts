import { AppError } from '#shared/core/errors.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';
import { statementError } from '../../connections/postgresql/errors.ts';
import { inTenantTransaction } from '../transaction.ts';

interface Options {
  preview: boolean;
  /** Message once the statements have run. */
  done: string;
}

// Not an interface, so that it is assignable to JSON.
type Applied = { message: string; sql: string[]; preview: boolean };

/** Runs the statements in one transaction. With `preview` they are returned and not run. */
export async function applyDDL(
  connection: PostgresConnection,
  sql: string[],
  { preview, done }: Options,
): Promise<Applied> {
  if (preview) return { message: 'Preview only: nothing was changed', sql, preview };
  if (sql.length > 0) await inTenantTransaction(connection, () => runAll(connection, sql));
  return { message: done, sql, preview };
}

async function runAll(connection: PostgresConnection, sql: readonly string[]): Promise<void> {
  // The wait for the lock of a table is short, because it blocks all later statements that use the table.
  await connection.query("set local lock_timeout = '10s'");
  try {
    for (const statement of sql)
      if (connection.dropAsOwner && statement.startsWith('drop ')) await connection.dropAsOwner(statement);
      else await connection.query(statement);
  } catch (error) {
    throw conflictOf(error) ?? error;
  }
}

/** Error codes: a schema, a table or other relation, or a trigger or other object of the name exists already. */
const TAKEN: ReadonlySet<string> = new Set(['42P06', '42P07', '42710']);

function conflictOf(error: unknown): AppError | undefined {
  const known = statementError(error);
  if (!known || !(error instanceof Error && 'code' in error && TAKEN.has(String(error.code)))) return undefined;
  return new AppError('CONFLICT', known.message, { cause: error, details: known.details });
}
