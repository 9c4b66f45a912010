import type { Json, JsonObject } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { DatabaseOperationOf } from '#shared/messaging/queues/tenant-database.ts';
import type { Notice, PostgresConnection } from '../../connections/postgresql/connection.ts';
import { type Budget, type RawResult, readTag, runPortal } from '../../connections/postgresql/portal.ts';
import { typeRows, writeParams } from '../../connections/postgresql/rows.ts';
import { splitStatements } from '../sql-text.ts';
import { setStatementTimeout, withStatementTimeout } from '../transaction.ts';

type ExecuteSQL = DatabaseOperationOf<'executeSQL'>;

/** Limit of all results together: an answer has at most 16 MB, and values may be longer in JSON. */
const MAX_SQL_RESULT_BYTES = 5 * 1024 * 1024;
const MAX_STATEMENTS = 200;

/**
 * Runs SQL of a client as it is. Several statements are one transaction, unless they begin or end transactions themselves.
 */
export async function executeSQL(connection: PostgresConnection, operation: ExecuteSQL): Promise<JsonObject> {
  const statements = await splitStatements(operation.sql, MAX_STATEMENTS);
  if (statements.length === 0) throw invalidField('sql', 'must contain a statement');
  if (statements.length > MAX_STATEMENTS)
    throw invalidField('sql', `must contain at most ${MAX_STATEMENTS} statements`);
  if (statements.length > 1 && operation.params.length > 0)
    throw invalidField('params', 'can be given to one statement only');
  const isOwnTransaction = statements.some(({ words: [first = ''] }) => CONTROL.has(first));
  if (isOwnTransaction && operation.readOnly)
    throw invalidField('sql', 'may not begin or end transactions with readOnly');

  const timeoutMs = operation.timeoutSeconds * 1000;
  const isWrapped = operation.readOnly || (statements.length > 1 && !isOwnTransaction);
  await setStatementTimeout(connection, timeoutMs);
  return await withStatementTimeout(connection, timeoutMs, () =>
    execute(connection, { ...operation, statements, isWrapped }),
  );
}

type Execution = ExecuteSQL & { statements: readonly { text: string }[]; isWrapped: boolean };

async function execute(connection: PostgresConnection, operation: Execution): Promise<JsonObject> {
  const { statements, isWrapped } = operation;
  if (isWrapped) await connection.query(operation.readOnly ? 'begin read only' : 'begin');
  // A first read fixes the mode of the transaction: before it, SQL of the client could change the transaction to one that writes.
  if (operation.readOnly) await connection.query('select 1');
  const answers = await runAll(connection, statements, operation);
  const typed = await typeRows(
    connection,
    answers.map(({ result }) => result),
  );
  if (isWrapped) await connection.query('commit');

  const results = answers.map(({ result, notices }, at) => ({
    ...summaryOf(result),
    notices,
    columns: typed[at]?.columns ?? [],
    // The rows of the last statement are in `result` only.
    rows: at < answers.length - 1 ? (typed[at]?.rows ?? []) : [],
  }));
  return { result: typed.at(-1)?.rows ?? [], rowCount: results.at(-1)?.rowCount ?? null, results };
}

/** First words of statements that begin, end or divide transactions. */
const CONTROL = new Set(['BEGIN', 'START', 'COMMIT', 'END', 'ROLLBACK', 'ABORT', 'SAVEPOINT', 'RELEASE', 'PREPARE']);

/** Summary of a result. The tag counts only the last batch when rows were read in batches, so the larger number of rows is returned. */
function summaryOf({ fields, rows, tag, isCut }: RawResult) {
  const { command, count } = tag === null ? { command: isCut ? 'SELECT' : null, count: null } : readTag(tag);
  return { command, rowCount: fields ? Math.max(count ?? 0, rows.length) : count, truncated: isCut };
}

interface Answer {
  result: RawResult;
  notices: Notice[];
}

async function runAll(
  connection: PostgresConnection,
  statements: readonly { text: string }[],
  { params, maxRows }: ExecuteSQL,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  let bytes = MAX_SQL_RESULT_BYTES;
  connection.takeNotices();
  for (const [at, { text: sql }] of statements.entries()) {
    const result = await runOne(connection, { sql, params, budget: { rows: maxRows, bytes } }).catch((error) => {
      throw inStatement(error, statements.length > 1 ? at : null);
    });
    bytes -= result.bytes;
    answers.push({ result, notices: connection.takeNotices() });
  }
  return answers;
}

async function isDrop(sql: string): Promise<boolean> {
  const [statement] = await splitStatements(sql, 1);
  return statement?.words[0] === 'DROP';
}

async function runOne(
  connection: PostgresConnection,
  { params, ...statement }: { sql: string; params: readonly Json[]; budget: Budget },
): Promise<RawResult> {
  if (connection.dropAsOwner && (await isDrop(statement.sql))) {
    const tag = await connection.dropAsOwner(statement.sql);
    return { fields: null, rows: [], rowCount: 0, bytes: 0, tag, isCut: false };
  }
  const values = await writeParams(connection, { sql: statement.sql, params });
  return await runPortal(connection, { ...statement, values, field: 'sql' });
}

/** Adds the number of the statement to an error of the server, which knows only the one statement it was sent. */
function inStatement(error: unknown, at: number | null): unknown {
  if (at !== null && error instanceof Error && 'severity' in error)
    error.message = `Statement ${at + 1}: ${error.message}`;
  return error;
}
