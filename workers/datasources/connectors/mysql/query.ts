import mysql, { type FieldPacket, type ResultSetHeader } from 'mysql2';
import type { Json } from '#shared/core/json.ts';
import { MAX_READ_BYTES } from '../../../connections/rows.ts';
import type { MySQLConnection } from './connection.ts';

/** Answer of the server, with values as the driver makes them. */
export interface RawResult {
  /** Null for a statement that returns no rows. */
  fields: FieldPacket[] | null;
  rows: unknown[][];
  /** Number of rows read, including those that were passed to `onRows`. */
  rowCount: number;
  /** Rows that a writing statement changed. */
  affectedRows: number | undefined;
  /** Whether the server had more rows than were read. */
  isCut: boolean;
}

interface StatementRequest {
  sql: string;
  params: readonly Json[];
  maxRows: number;
  /** Receives the rows in batches as they arrive; the result then contains none. */
  onRows?: ((fields: FieldPacket[], rows: unknown[][]) => Promise<void>) | undefined;
}

/** ER_UNSUPPORTED_PS: a few statements, such as those that create triggers, cannot be prepared. */
const NOT_PREPARED = 1295;

export async function executeStatement(connection: MySQLConnection, request: StatementRequest): Promise<RawResult> {
  try {
    return await executePrepared(connection, request);
  } catch (error) {
    const cannotBePrepared = error instanceof Error && 'errno' in error && error.errno === NOT_PREPARED;
    if (!cannotBePrepared || request.params.length > 0) throw error;
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
 * Reads the first result set that has rows; a procedure may return several. Drops the connection when there are more rows than
 * wanted, because the server would send all of them.
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

  /** Passes a batch to `onRows`. The connection is paused until `onRows` has finished, so the server waits. */
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
    // The connection is dropped only after the result: its loss rejects `broken`, which must not overtake rows that were read.
    const delivered = onRows && result.rows.length > 0 ? onRows(result.fields ?? [], result.rows.splice(0)) : undefined;
    Promise.resolve(delivered)
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
