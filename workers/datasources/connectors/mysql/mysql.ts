import type { FieldPacket } from 'mysql2';
import { AppError } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { shown } from '#shared/datasources/fields/sql-writes.ts';
import { renderStatement, type Statement } from '#shared/datasources/queries/statement.ts';
import type { mysql } from '#shared/datasources/types/mysql.ts';
import type { QueryResult } from '../../../connections/connection.ts';
import { createConnectionPool } from '../../../connections/connection-pool.ts';
import { RefusedWrite } from '../../../connections/refused-write.ts';
import { columnKeys, convertInParts, parseJson, rowOf } from '../../../connections/rows.ts';
import { formatAddress, reasonOf, upstreamError, withDetails } from '../../../outbound/upstream-error.ts';
import type { Connector } from '../connector.ts';
import { browse } from './browse.ts';
import { type MySQLConnection, openMySQLConnection } from './connection.ts';
import { endpointOf, type MySQLEndpoint } from './endpoint.ts';
import { executeStatement, type RawResult } from './query.ts';
import { onceByReceipt } from './receipts.ts';
import { readerOf, typeName } from './values.ts';

export const connectMySQL: Connector<typeof mysql> = (options, { outbound }) => {
  const endpoint = endpointOf(options);
  const pool = createConnectionPool<MySQLConnection>({
    where: formatAddress(endpoint.host, endpoint.port),
    maxConnections: 4,
    find: async () => ({ key: '', open: (signal) => openMySQLConnection(endpoint, outbound, signal) }),
  });

  async function withConnection<T>(signal: AbortSignal, work: (connection: MySQLConnection) => Promise<T>): Promise<T> {
    try {
      return await pool.withConnection(signal, work);
    } catch (error) {
      throw usableError(error, endpoint, signal);
    }
  }

  return {
    test: (signal) =>
      withConnection(
        signal,
        async (connection) => void (await executeStatement(connection, { sql: 'select 1', params: [], maxRows: 1 })),
      ),
    async execute({ statement }, { maxRows, signal, onRows, isDryRun = false, isOnce = false, idempotencyKey }) {
      const onDriverRows = onRows && ((fields: FieldPacket[], rows: unknown[][]) => onRows(rowsOf(fields, rows)));
      const { sql, params } = render(statement);
      const request = { sql, params, maxRows, onRows: onDriverRows };
      const execute = isDryRun ? executeReadOnly : executeStatement;
      if (!isOnce || idempotencyKey === null)
        return await presented(await withConnection(signal, (connection) => execute(connection, request)));
      return await withConnection(signal, (connection) =>
        onceByReceipt(connection, { idempotencyKey, sql }, async () =>
          presented(await executeStatement(connection, request)),
        ),
      );
    },
    browse: (path, signal) => withConnection(signal, (connection) => browse(connection, path)),
    async explain({ statement }, { signal }) {
      const { sql, params } = render(statement);
      const explained = { sql: `EXPLAIN FORMAT=JSON ${sql}`, params, maxRows: 1 };
      const { rows } = await withConnection(signal, (connection) => executeStatement(connection, explained));
      return parseJson(String(rows[0]?.[0] ?? 'null'));
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
};

/** Executes in a read-only transaction. The reset of the connection at its release ends the transaction. */
async function executeReadOnly(connection: MySQLConnection, request: Parameters<typeof executeStatement>[1]) {
  await executeStatement(connection, { sql: 'start transaction read only', params: [], maxRows: 1 });
  try {
    return await executeStatement(connection, request);
  } catch (error) {
    if ((error as { errno?: number }).errno === READ_ONLY) throw new RefusedWrite(shown(request.sql), error);
    throw error;
  }
}

/** ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION */
const READ_ONLY = 1792;

/** The protocol counts parameters in two bytes. */
const MAX_PARAMS = 65_535;

function render(statement: Statement | null): { sql: string; params: Json[] } {
  if (!statement) throw invalidField('query', 'must be a text');
  const rendered = renderStatement(statement, () => '?');
  if (rendered.params.length > MAX_PARAMS)
    throw invalidField('query', `has ${rendered.params.length} values, and can have ${MAX_PARAMS}`);
  return rendered;
}

async function presented({ fields, rows, rowCount, affectedRows, isCut }: RawResult): Promise<QueryResult> {
  if (!fields) return { data: [], ...(affectedRows !== undefined && { affectedRows }) };
  const keys = keysOf(fields);
  const columns = fields.map((field, index) => ({ name: keys[index] ?? '', type: typeName(field) }));
  const data = await convertInParts(rows, (part) => rowsOf(fields, part));
  return { data, columns, rowCount, ...(isCut && { truncated: true }) };
}

function rowsOf(fields: FieldPacket[], rows: readonly unknown[][]): JsonObject[] {
  const keys = keysOf(fields);
  const readers = fields.map(readerOf);
  return rows.map((row) =>
    rowOf(
      keys,
      readers.map((read, index) => read(row[index])),
    ),
  );
}

function keysOf(fields: FieldPacket[]): string[] {
  return columnKeys(fields.map(({ name }) => name));
}

/** Numbers of errors after which the connection is lost: the server shuts down, or has killed the connection. */
const connectionLost: ReadonlySet<number> = new Set([1053, 1152, 1184, 1927]);

/** Maps the error of a call. `sent: true` in its details: the server may have executed the statement. */
function usableError(error: unknown, endpoint: MySQLEndpoint, signal: AbortSignal): unknown {
  if (error instanceof AppError) return error;
  const where = formatAddress(endpoint.host, endpoint.port);
  if (signal.aborted) return isTimeout(signal.reason) ? upstreamError('timeout', where, error) : error;
  return databaseError(error) ?? withDetails(upstreamError(reasonOf(error) ?? 'lost', where, error), { sent: true });
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}

/** Numbers of the errors of a statement that exceeds its time limit, in MySQL and in MariaDB. */
const timeouts: ReadonlySet<number> = new Set([3024, 1969]);

/** An error with the server's message; undefined for the driver's own errors, which have no number. */
function databaseError(error: unknown): AppError | undefined {
  const { errno, sqlState, sqlMessage } = error as { errno?: number; sqlState?: string; sqlMessage?: string };
  if (typeof errno !== 'number' || sqlMessage === undefined || connectionLost.has(errno)) return undefined;
  const line = / at line (\d+)$/.exec(sqlMessage)?.[1];
  const details = { errno, ...(sqlState && { sqlState }), ...(line && { line: Number(line) }) };
  return new AppError(timeouts.has(errno) ? 'UPSTREAM_TIMEOUT' : 'DB_ERROR', sqlMessage, { cause: error, details });
}
