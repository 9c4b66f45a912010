import mysql, { type FieldPacket, type ResultSetHeader } from 'mysql2';
import type { Json } from '#shared/json.ts';
import { MAX_BYTES } from '../rows.ts';
import type { MySQLSession } from './session.ts';

/** What the server said, values as the driver makes them. */
export interface RawResult {
  /** Null for a statement that answers with no rows at all. */
  fields: FieldPacket[] | null;
  rows: unknown[][];
  /** Of a statement that writes. */
  affectedRows: number | undefined;
  isCut: boolean;
}

interface Asked {
  sql: string;
  params: readonly Json[];
  maxRows: number;
}

/** ER_UNSUPPORTED_PS: a few statements, such as those that create triggers, cannot be prepared. */
const NOT_PREPARED = 1295;

export async function ask(session: MySQLSession, asked: Asked): Promise<RawResult> {
  try {
    return await prepared(session, asked);
  } catch (error) {
    const mayBeSent = error instanceof Error && 'errno' in error && error.errno === NOT_PREPARED;
    if (!mayBeSent || asked.params.length > 0) throw error;
    return await Promise.race([read(session, session.driver.query({ sql: asked.sql }), asked.maxRows), session.broken]);
  }
}

async function prepared(session: MySQLSession, { sql, params, maxRows }: Asked): Promise<RawResult> {
  const command = session.driver.execute({ sql, values: params.map(bound) });
  return await Promise.race([read(session, command, maxRows), session.broken]);
}

/** A number without a fraction is a whole one, as LIMIT wants it; lists and objects are JSON. */
function bound(value: Json): unknown {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return mysql.TypedParameter.LONGLONG(value);
  if (typeof value === 'object' && value !== null) return mysql.TypedParameter.JSON(JSON.stringify(value));
  return value;
}

type Command = ReturnType<MySQLSession['driver']['query']>;

/**
 * Of a procedure with several answers the first with rows is taken. When there are more rows than wanted, the connection ends:
 * the server would go on sending all of them.
 */
function read(session: MySQLSession, command: Command, maxRows: number): Promise<RawResult> {
  const result: RawResult = { fields: null, rows: [], affectedRows: undefined, isCut: false };
  const { promise, resolve, reject } = Promise.withResolvers<RawResult>();
  let bytes = 0;
  let isTaken = false;

  function onFields(fields: FieldPacket[] | undefined): void {
    isTaken = result.fields !== null;
    if (fields && !isTaken) result.fields = fields;
  }

  function onRow(row: unknown[]): void {
    if (isTaken || result.isCut) return;
    bytes += sizeOf(row);
    result.isCut = result.rows.length === maxRows || bytes > MAX_BYTES;
    if (!result.isCut) result.rows.push(row);
    else {
      session.drop();
      resolve(result);
    }
  }

  command.on('fields', onFields);
  command.on('result', (row: unknown[] | ResultSetHeader) => {
    if (Array.isArray(row)) onRow(row);
    else if (row) result.affectedRows = row.affectedRows;
  });
  command.on('error', reject);
  command.on('end', () => resolve(result));
  return promise;
}

function sizeOf(row: readonly unknown[]): number {
  let size = 0;
  for (const value of row) if (typeof value === 'string' || Buffer.isBuffer(value)) size += value.length;
  return size;
}
