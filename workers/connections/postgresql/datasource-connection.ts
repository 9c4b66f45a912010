import pg from 'pg';
import type { Json } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { shown } from '#shared/datasources/fields/sql-writes.ts';
import { renderStatement, type Statement } from '#shared/datasources/queries/statement.ts';
import type { postgresql } from '#shared/datasources/types/postgresql.ts';
import { upstreamError } from '../../outbound/upstream-error.ts';
import type { Connection, ExecuteOptions, QueryResult } from '../connection.ts';
import { RefusedWrite } from '../refused-write.ts';
import { convertInParts, MAX_READ_BYTES } from '../rows.ts';
import { browse } from './browse.ts';
import type { PostgresConnection } from './connection.ts';
import { statementError } from './errors.ts';
import { type RawResult, readTag, runPortal } from './portal.ts';
import { onceByReceipt } from './receipts.ts';
import { columnsOf, learnTypes, rowsOf, streamRows, writeParams } from './rows.ts';

/** Provides connections to one database. */
export interface ConnectionProvider {
  /** Name of the database in error messages. */
  where: string;
  withConnection<T>(signal: AbortSignal, work: (connection: PostgresConnection) => Promise<T>): Promise<T>;
}

/** Operations of a PostgreSQL datasource: a tenant's own database, or another server. */
export function createDatasourceConnection(
  provider: ConnectionProvider,
): Omit<Connection<typeof postgresql>, typeof Symbol.asyncDispose> {
  async function withConnection<T>(
    signal: AbortSignal,
    work: (connection: PostgresConnection) => Promise<T>,
  ): Promise<T> {
    try {
      return await provider.withConnection(signal, work);
    } catch (error) {
      throw isTimeout(error) ? upstreamError('timeout', provider.where, error) : error;
    }
  }

  return {
    test: (signal) => withConnection(signal, async (connection) => void (await connection.query('select 1'))),
    async execute({ statement }, { maxRows, signal, onRows, isDryRun = false, isOnce = false, idempotencyKey }) {
      const rendered = render(statement);
      const request = { ...rendered, maxRows };
      return await withConnection(signal, (connection) => {
        const execute = () =>
          onRows ? streamStatement(connection, request, onRows) : executeStatement(connection, request);
        if (isDryRun) return readOnly(connection, request.sql, execute);
        return isOnce && idempotencyKey !== null ? onceByReceipt(connection, idempotencyKey, execute) : execute();
      });
    },
    browse: (path, signal) => withConnection(signal, (connection) => browse(connection, path)),
    async explain({ statement }, { signal }) {
      const { sql, params } = render(statement);
      // Without ANALYZE, which would run the statement. The client cannot add it: after the options it is a syntax error.
      const explained = { sql: `EXPLAIN (FORMAT JSON) ${sql}`, params, maxRows: 1 };
      const { data } = await withConnection(signal, (connection) => executeStatement(connection, explained));
      return (data as { 'QUERY PLAN': Json }[])[0]?.['QUERY PLAN'] ?? null;
    },
  };
}

/** Does work in a read-only transaction, which is rolled back when the connection is checked in. */
async function readOnly<T>(connection: PostgresConnection, sql: string, work: () => Promise<T>): Promise<T> {
  await connection.query('begin read only');
  try {
    return await work();
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof pg.DatabaseError ? error.cause : error;
    if (cause instanceof pg.DatabaseError && cause.code === READ_ONLY) throw new RefusedWrite(shown(sql), error);
    throw error;
  }
}

/** read_only_sql_transaction */
const READ_ONLY = '25006';

interface Rendered {
  sql: string;
  params: Json[];
}

/** The protocol counts parameters in two bytes. */
const MAX_PARAMS = 65_535;

function render(statement: Statement | null): Rendered {
  if (!statement) throw invalidField('query', 'must be a text');
  const rendered = renderStatement(statement, (index) => `$${index}`);
  if (rendered.sql.includes('\0')) throw invalidField('query', 'must not have a NUL character');
  if (rendered.params.length > MAX_PARAMS)
    throw invalidField('query', `has ${rendered.params.length} values, and can have ${MAX_PARAMS}`);
  return rendered;
}

type StatementRequest = Rendered & { maxRows: number };

function executeStatement(
  connection: PostgresConnection,
  { maxRows, ...rendered }: StatementRequest,
): Promise<QueryResult> {
  return located(rendered.sql, async () => {
    const values = await writeParams(connection, rendered);
    const budget = { rows: maxRows, bytes: MAX_READ_BYTES };
    const result = await runPortal(connection, { sql: rendered.sql, values, budget, field: 'query' });
    await learnTypes(connection, result.fields ?? []);
    return await presented(result, connection);
  });
}

type Take = NonNullable<ExecuteOptions['onRows']>;

function streamStatement(
  connection: PostgresConnection,
  { maxRows, ...rendered }: StatementRequest,
  onRows: Take,
): Promise<QueryResult> {
  return located(rendered.sql, async () => {
    const values = await writeParams(connection, rendered);
    const budget = { rows: maxRows, bytes: Number.POSITIVE_INFINITY };
    const result = await streamRows(connection, { sql: rendered.sql, values, budget, field: 'query' }, onRows);
    return await presented(result, connection);
  });
}

/** Adds the line of the statement to the server's error. */
async function located<T>(sql: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw statementError(error, sql) ?? error;
  }
}

async function presented(result: RawResult, connection: PostgresConnection): Promise<QueryResult> {
  const { fields, rows, rowCount, isCut } = result;
  const affectedRows = affectedRowsOf(result);
  const notices = connection.takeNotices().map(({ message }) => message);
  const written = { ...(affectedRows !== undefined && { affectedRows }), ...(notices.length > 0 && { notices }) };
  if (!fields) return { data: [], ...written };
  const data = await convertInParts(rows, (part) => rowsOf(part, fields, connection.types));
  const columns = columnsOf(fields, connection.types);
  return { data, columns, rowCount, ...written, ...(isCut && { truncated: true }) };
}

function affectedRowsOf({ tag }: RawResult): number | undefined {
  const { command, count } = readTag(tag ?? '');
  return count !== null && writing.has(command) ? count : undefined;
}

const writing: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE', 'COPY']);

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}
