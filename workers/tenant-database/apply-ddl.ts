import { AppError } from '#shared/errors.ts';
import type { PostgresConnection } from '../postgresql/connection.ts';
import { statementError } from '../postgresql/errors.ts';
import { inTenantTransaction } from './transaction.ts';

interface Means {
  preview: boolean;
  /** What is said once it is. */
  done: string;
}

// No interface, so that it is JSON as well.
type Applied = { message: string; sql: string[]; preview: boolean };

/** All in one transaction. With `preview` it is shown, and nothing is done. */
export async function applyDDL(
  connection: PostgresConnection,
  sql: string[],
  { preview, done }: Means,
): Promise<Applied> {
  if (preview) return { message: 'This would be done; nothing was', sql, preview };
  if (sql.length > 0) await inTenantTransaction(connection, () => runAll(connection, sql));
  return { message: done, sql, preview };
}

async function runAll(connection: PostgresConnection, sql: readonly string[]): Promise<void> {
  // A table that is in use for long is left alone rather than kept from everybody else meanwhile.
  await connection.query("set local lock_timeout = '10s'");
  try {
    for (const statement of sql) await connection.query(statement);
  } catch (error) {
    throw conflictOf(error) ?? error;
  }
}

/** A schema, a table or another relation, a trigger or another object, of a name that is taken. */
const TAKEN: ReadonlySet<string> = new Set(['42P06', '42P07', '42710']);

function conflictOf(error: unknown): AppError | undefined {
  const known = statementError(error);
  if (!known || !(error instanceof Error && 'code' in error && TAKEN.has(String(error.code)))) return undefined;
  return new AppError('CONFLICT', known.message, { cause: error, details: known.details });
}
