import type { Json } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { QueryResult } from '../../../connections/connection.ts';
import {
  cannotCreate,
  DELETED_AT_ONCE,
  RECEIPTS,
  RETENTION_DAYS,
  readResult,
  receiptOf,
  writeResult,
} from '../../../connections/receipts.ts';
import type { MySQLConnection } from './connection.ts';
import { executeStatement, type RawResult } from './query.ts';

/** Does the work at most once for a key, as `workers/connections/postgresql/receipts.ts` does. */
export async function onceByReceipt(
  connection: MySQLConnection,
  { idempotencyKey, sql }: { idempotencyKey: string; sql: string },
  work: () => Promise<QueryResult>,
): Promise<QueryResult> {
  requireTransactional(sql);
  const once = () => attempt(connection, idempotencyKey, work);
  const found = await once();
  if (found) return found;
  await run(connection, CREATE).catch((error: unknown) => Promise.reject(cannotCreate(error)));
  return (await once()) ?? Promise.reject(cannotCreate('the table is not there'));
}

/** Undefined: the table of receipts does not exist, so nothing has been done. */
async function attempt(
  connection: MySQLConnection,
  idempotencyKey: string,
  work: () => Promise<QueryResult>,
): Promise<QueryResult | undefined> {
  const { key, shown } = receiptOf(idempotencyKey);
  await run(connection, 'start transaction');
  try {
    // Waits for the end of a transaction that has inserted the same key.
    const inserted = await insert(connection, [key, shown]);
    if (inserted === 'inserted') {
      const result = await work();
      await run(connection, WRITE, [writeResult(result), key]);
      await run(connection, 'commit');
      // After the commit, because a deletion locks ranges of the index. The account may lack the right to it, which is no error.
      await run(connection, DELETE_OLD).catch(() => undefined);
      return result;
    }
    await run(connection, 'rollback');
    if (inserted === 'missing') return undefined;
  } catch (error) {
    // If the connection is lost, the server rolls back by itself.
    if (connection.isOpen) await run(connection, 'rollback').catch(() => undefined);
    throw error;
  }
  const { rows } = await run(connection, READ, [key]);
  return readResult(textOf(rows[0]?.[0]));
}

async function insert(connection: MySQLConnection, params: Json[]): Promise<'inserted' | 'repeated' | 'missing'> {
  try {
    await run(connection, INSERT, params);
    return 'inserted';
  } catch (error) {
    const number = error instanceof Error && 'errno' in error ? error.errno : undefined;
    if (number === DUPLICATE_KEY) return 'repeated';
    if (number === NO_SUCH_TABLE) return 'missing';
    throw error;
  }
}

function run(connection: MySQLConnection, sql: string, params: Json[] = []): Promise<RawResult> {
  return executeStatement(connection, { sql, params, maxRows: 10 });
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** First words of statements that can be part of a transaction. MySQL commits an open transaction before any other, such as DDL. */
const transactional = /^(?:insert|update|delete|replace|select|with|call|values|table)\b/i;
/** Spaces, parentheses and comments, but not the comments that MySQL or MariaDB executes. */
const BEFORE_FIRST_WORD = /^(?:\s|\(|(?:--\s|#)[^\n]*(?:\n|$)|\/\*(?!!|M!)[\s\S]*?\*\/)*/;

function requireTransactional(sql: string): void {
  if (!transactional.test(sql.replace(BEFORE_FIRST_WORD, '')))
    throw invalidField(
      'query',
      'must be INSERT, UPDATE, DELETE, REPLACE, SELECT, WITH or CALL in a node with `exactlyOnce`: MySQL commits before others',
    );
}

const DUPLICATE_KEY = 1062;
const NO_SUCH_TABLE = 1146;

const INSERT = `
insert into ${RECEIPTS} (receipt_key, node, expires_at) values (?, ?, utc_timestamp() + interval ${RETENTION_DAYS} day)`;

const READ = `select result from ${RECEIPTS} where receipt_key = ?`;

const WRITE = `update ${RECEIPTS} set result = ? where receipt_key = ?`;

const DELETE_OLD = `delete from ${RECEIPTS} where expires_at < utc_timestamp() order by expires_at limit ${DELETED_AT_ONCE}`;

const CREATE = `
create table if not exists ${RECEIPTS} (
  receipt_key char(64) character set ascii collate ascii_bin primary key,
  node varchar(255) character set utf8mb4 not null,
  result longtext character set utf8mb4,
  created_at datetime not null default current_timestamp,
  expires_at datetime not null,
  key (expires_at)
) engine = InnoDB`;
