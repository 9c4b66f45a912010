import mysql, { type FieldPacket, type ResultSetHeader } from 'mysql2';
import type { Json } from '#shared/core/json.ts';
import { MAX_READ_BYTES } from '../../../connections/rows.ts';
import type { MySQLConnection } from './connection.ts';

/** Answer of the server, with values as the driver makes them. */
export interface RawResult {
  /** Null for a statement that returns no rows. */
  fields: FieldPacket[] | null;
  rows: unknown[][];
  /** Includes rows that were handed over. */
  rowCount: number;
  /** Rows that a writing statement changed. */
  affectedRows: number | undefined;
  isCut: boolean;
}

interface StatementRequest {
  sql: string;
  params: readonly Json[];
  maxRows: number;
  /** Takes the rows as they arrive; the result then has none. */
  onRows?: ((fields: FieldPacket[], rows: unknown[][]) => Promise<void>) | undefined;
}

/** ER_UNSUPPORTED_PS: a few statements, such as those that create triggers, cannot be prepared. */
const NOT_PREPARED = 1295;

export async function executeStatement(connection: MySQLConnection, request: StatementRequest): Promise<RawResult> {
  try {
    return await executePrepared(connection, request);
  } catch (error) {
    const mayBeSent = error instanceof Error && 'errno' in error && error.errno === NOT_PREPARED;
    if (!mayBeSent || request.params.length > 0) throw error;
    return await Promise.race([
      readRows(connection, connection.driver.query({ sql: request.sql }), request),
      connection.broken,
    ]);
  }
}

async function executePrepared(connection: MySQLConnection, request: StatementRequest): Promise<RawResult> {
  const command = connection.driver.execute({ sql: request.sql, values: request.params.map(bound) });
  return await Promise.race([readRows(connection, command, request), connection.broken]);
}

/** Sends a number without a fraction as an integer, which LIMIT requires; lists and objects as JSON. */
function bound(value: Json): unknown {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return mysql.TypedParameter.LONGLONG(value);
  if (typeof value === 'object' && value !== null) return mysql.TypedParameter.JSON(JSON.stringify(value));
  return value;
}

type Command = ReturnType<MySQLConnection['driver']['query']>;

/** Size of a batch: rows are passed on, or collected, up to about this much. */
const BATCH_BYTES = 1024 * 1024;
const BATCH_ROWS = 1_000;

/**
 * Takes the first result with rows of a procedure. Closes the connection when there are more rows than wanted, because the server
 * would send all of them.
 */
function readRows(
  connection: MySQLConnection,
  command: Command,
  { maxRows, onRows }: StatementRequest,
): Promise<RawResult> {
  const result: RawResult = { fields: null, rows: [], rowCount: 0, affectedRows: undefined, isCut: false };
  const { promise, resolve, reject } = Promise.withResolvers<RawResult>();
  let bytes = 0;
  let isComplete = false;

  function onFields(fields: FieldPacket[] | undefined): void {
    isComplete = result.fields !== null;
    if (fields && !isComplete) result.fields = fields;
  }

  function onRow(row: unknown[]): void {
    if (isComplete || result.isCut) return;
    bytes += sizeOf(row);
    result.isCut = result.rowCount === maxRows || (!onRows && bytes > MAX_READ_BYTES);
    if (result.isCut) return finish();
    result.rowCount += 1;
    result.rows.push(row);
    if (onRows && (result.rows.length === BATCH_ROWS || bytes > BATCH_BYTES)) void deliver();
  }

  /** The server waits for as long as the rows are being taken. */
  async function deliver(): Promise<void> {
    connection.driver.pause();
    bytes = 0;
    try {
      await onRows?.(result.fields ?? [], result.rows.splice(0));
      connection.driver.resume();
    } catch (error) {
      reject(error);
      connection.drop();
    }
  }

  function finish(): void {
    if (result.isCut) connection.driver.pause();
    // A lost connection no longer matters once everything has been read.
    const taken = onRows && result.rows.length > 0 ? onRows(result.fields ?? [], result.rows.splice(0)) : undefined;
    Promise.resolve(taken)
      .then(() => resolve(result), reject)
      .finally(() => result.isCut && connection.drop());
  }

  command.on('fields', onFields);
  command.on('result', (row: unknown[] | ResultSetHeader) => {
    if (Array.isArray(row)) onRow(row);
    else if (row) result.affectedRows = row.affectedRows;
  });
  command.on('error', reject);
  command.on('end', finish);
  return promise;
}

function sizeOf(row: readonly unknown[]): number {
  let size = 0;
  for (const value of row) if (typeof value === 'string' || Buffer.isBuffer(value)) size += value.length;
  return size;
}
