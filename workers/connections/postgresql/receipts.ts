import { invalidField } from '#shared/core/schema/issues.ts';
import type { QueryResult } from '../connection.ts';
import {
  cannotCreate,
  DELETED_AT_ONCE,
  RECEIPTS,
  RETENTION_DAYS,
  readResult,
  receiptOf,
  writeResult,
} from '../receipts.ts';
import type { PostgresConnection } from './connection.ts';

/**
 * Does the work at most once for a key: it and its receipt are one transaction. A repeated attempt gets the result of the first; one
 * that comes while the first is under way waits for it.
 */
export async function onceByReceipt(
  connection: PostgresConnection,
  idempotencyKey: string,
  work: () => Promise<QueryResult>,
): Promise<QueryResult> {
  try {
    return await attempt(connection, idempotencyKey, work);
  } catch (error) {
    if (!isMissing(error)) throw error;
    await createTable(connection);
    return await attempt(connection, idempotencyKey, work);
  }
}

/** The table of receipts did not exist, so nothing has been done. */
class MissingTable extends Error {}

function isMissing(error: unknown): boolean {
  return error instanceof MissingTable;
}

async function attempt(
  { query, driver }: PostgresConnection,
  idempotencyKey: string,
  work: () => Promise<QueryResult>,
): Promise<QueryResult> {
  const { key, shown } = receiptOf(idempotencyKey);
  await query('begin');
  try {
    // Waits for the end of a transaction that has inserted the same key.
    const { rowCount } = await query(INSERT, [key, shown]).catch((error: unknown) => {
      throw codeOf(error) === UNDEFINED_TABLE ? new MissingTable('', { cause: error }) : error;
    });
    if (rowCount === 0) {
      const { rows } = await query<{ result: string | null }>(READ, [key]);
      await query('rollback');
      return readResult(rows[0]?.result);
    }
    const result = await work();
    if (driver.getTransactionStatus() !== 'T')
      throw invalidField('query', 'must not begin or end a transaction in a node with `exactlyOnce`');
    await query(WRITE, [key, writeResult(result)]);
    await query('commit');
    // A failure is ignored: the work is committed, and the account may lack the right to delete.
    await query(DELETE_OLD).catch(() => undefined);
    return result;
  } catch (error) {
    // If the connection is lost, the server rolls back by itself.
    await query('rollback').catch(() => undefined);
    throw error;
  }
}

async function createTable({ query }: PostgresConnection): Promise<void> {
  try {
    for (const statement of CREATE) await query(statement);
  } catch (error) {
    // Another attempt has created it at the same moment.
    if (codeOf(error) !== UNIQUE_VIOLATION && codeOf(error) !== DUPLICATE_TABLE) throw cannotCreate(error);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

const UNDEFINED_TABLE = '42P01';
const DUPLICATE_TABLE = '42P07';
const UNIQUE_VIOLATION = '23505';

const INSERT = `
insert into ${RECEIPTS} (receipt_key, node, expires_at) values ($1, $2, now() + interval '${RETENTION_DAYS} days') on conflict do nothing`;

const READ = `select result from ${RECEIPTS} where receipt_key = $1`;

const WRITE = `update ${RECEIPTS} set result = $2 where receipt_key = $1`;

const DELETE_OLD = `
delete from ${RECEIPTS} where receipt_key = any(array(
  select receipt_key from ${RECEIPTS} where expires_at < now() order by expires_at limit ${DELETED_AT_ONCE} for update skip locked))`;

const CREATE = [
  `create table if not exists ${RECEIPTS} (
  receipt_key char(64) primary key,
  node text not null,
  result text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
)`,
  `create index if not exists ${RECEIPTS}_expires_at on ${RECEIPTS} (expires_at)`,
];
