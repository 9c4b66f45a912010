import { AppError } from '#shared/errors.ts';
import type { JsonObject } from '#shared/json.ts';
import type { DatabaseOperationOf } from '#shared/queues/tenant-database.ts';
import type { TenantClient } from './open.ts';
import { limitStatements } from './session.ts';
import { splitStatements } from './sql-text.ts';
import { type RawResult, runStatement } from './statement.ts';
import { typeRows } from './values.ts';

type ExecuteSQL = DatabaseOperationOf<'executeSQL'>;

/** Of all results together: an answer holds no more than 16 MB, and the last result twice. */
const MOST_BYTES = 5 * 1024 * 1024;
const MOST_STATEMENTS = 200;
const MOST_NOTICES = 100;

/**
 * What somebody has written, as it is. One statement stands for itself; several are one transaction, unless they say
 * themselves where transactions begin and end.
 */
export async function executeSQL(client: TenantClient, operation: ExecuteSQL): Promise<JsonObject> {
  const statements = splitStatements(operation.sql);
  if (statements.length === 0) throw new AppError('VALIDATION_ERROR', 'sql: holds no statement');
  if (statements.length > MOST_STATEMENTS)
    throw new AppError('VALIDATION_ERROR', `sql: holds more than ${MOST_STATEMENTS} statements`);
  if (statements.length > 1 && operation.params.length > 0)
    throw new AppError('VALIDATION_ERROR', 'params: can be given to one statement only');
  const isOwnTransaction = statements.some(({ words: [first = ''] }) => CONTROL.has(first));
  if (isOwnTransaction && operation.readOnly)
    throw new AppError('VALIDATION_ERROR', 'sql: may not begin or end transactions with readOnly');

  await limitStatements(client, Math.round(operation.timeoutSeconds * 1000));
  const isWrapped = operation.readOnly || (statements.length > 1 && !isOwnTransaction);
  if (isWrapped) await client.query(operation.readOnly ? 'begin read only' : 'begin');
  // Until something was read, a transaction can still be made one that writes.
  if (operation.readOnly) await client.query('select 1');
  const answers = await runAll(client, statements, operation);
  const typed = await typeRows(
    client,
    answers.map(({ result }) => result),
  );
  if (isWrapped) await client.query('commit');

  const results = answers.map(({ result, notices }, at) => ({
    command: result.command,
    rowCount: result.rowCount,
    truncated: result.truncated,
    notices,
    columns: typed[at]?.columns ?? [],
    rows: typed[at]?.rows ?? [],
  }));
  const last = results.at(-1);
  return { result: last?.rows ?? [], rowCount: last?.rowCount ?? null, results };
}

const CONTROL = new Set(['BEGIN', 'START', 'COMMIT', 'END', 'ROLLBACK', 'ABORT', 'SAVEPOINT', 'RELEASE', 'PREPARE']);

interface Answer {
  result: RawResult;
  notices: { severity: string; message: string }[];
}

async function runAll(
  client: TenantClient,
  statements: readonly { text: string }[],
  { params, maxRows }: ExecuteSQL,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  let notices: Answer['notices'] = [];
  const listen = ({
    severity = 'NOTICE',
    message = '',
  }: {
    severity?: string | undefined;
    message?: string | undefined;
  }) => {
    if (notices.length < MOST_NOTICES) notices.push({ severity, message: message.slice(0, 2_000) });
  };
  client.on('notice', listen);
  const values = params.map(asParameter);
  let bytes = MOST_BYTES;
  try {
    for (const [at, { text }] of statements.entries()) {
      notices = [];
      const result = await runStatement(client, { text, values }, { rows: maxRows, bytes }).catch((error) => {
        throw inStatement(error, statements.length > 1 ? at : null);
      });
      bytes -= result.bytes;
      answers.push({ result, notices });
    }
    return answers;
  } finally {
    client.off('notice', listen);
  }
}

/** Which of several it was, for people; the server knows only the one it was given. */
function inStatement(error: unknown, at: number | null): unknown {
  if (at !== null && error instanceof Error && 'severity' in error)
    error.message = `Statement ${at + 1}: ${error.message}`;
  return error;
}

/** Objects are JSON; lists are arrays, as the driver writes them; the server reads the rest from text. */
function asParameter(value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? JSON.stringify(value) : value;
}
