import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { DatabaseOperationOf } from '#shared/messaging/queues/tenant-database.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';
import { runPortal } from '../../connections/postgresql/portal.ts';
import { typeRows } from '../../connections/postgresql/rows.ts';
import { columnOf, findTable, positionColumns, quoteTable, type Table } from '../catalog.ts';
import { quoteName } from '../quote.ts';
import { conditionOf } from './filter.ts';
import { type Value, withValues } from './values.ts';

const MAX_LIST_BYTES = 8 * 1024 * 1024;

type ListRows = DatabaseOperationOf<'listRows'>;

/** Reads a page of a table, each row with its position if it has one. */
export async function listRows(connection: PostgresConnection, operation: ListRows): Promise<JsonObject> {
  const { page, pageSize } = operation;
  const table = await findTable(connection, operation);
  const values: Value[] = [];
  const where = conditionOf(operation, table, values);
  const sql = `select ${selection(table)} from ${quoteTable(table)} where ${where} order by ${ordering(table, operation)}`;
  const text = `${sql} limit ${pageSize + 1} offset ${(page - 1) * pageSize}`;
  const budget = { rows: pageSize + 1, bytes: MAX_LIST_BYTES };
  const result = await withValues(values, (texts) => runPortal(connection, { sql: text, values: texts, budget }));
  if (result.isCut)
    throw new AppError('PAYLOAD_TOO_LARGE', `The page is larger than ${MAX_LIST_BYTES} bytes: use a smaller pageSize`);
  const [typed] = await typeRows(connection, [result]);
  const rows = typed?.rows ?? [];
  return {
    databaseTableRows: rows.slice(0, pageSize),
    page,
    pageSize,
    nextPage: rows.length > pageSize ? page + 1 : null,
    ...(operation.count && { totalCount: await countRows(connection, table, operation) }),
  };
}

export async function countRows(
  connection: PostgresConnection,
  table: Table,
  filtered: { filter: JsonObject | null },
): Promise<number> {
  const values: Value[] = [];
  const where = conditionOf(filtered, table, values);
  const sql = `select count(*)::text as n from ${quoteTable(table)} where ${where}`;
  const { rows } = await withValues(values, (texts) => connection.query<{ n: string }>(sql, texts));
  return Number(rows[0]?.n);
}

export function selection(table: Table): string {
  const columns = table.columns.map(({ name }) => quoteName(name));
  const position = positionColumns(table).map(({ name }) => (name === 'ctid' ? 'ctid::text as ctid' : name));
  return [...position, ...columns].join(', ') || 'null as empty';
}

/** The requested order, then what tells rows apart, so that pages do not overlap. */
export function ordering(table: Table, { order }: Pick<ListRows, 'order'>): string {
  const requested = order.map(({ column, descending, nulls }, index) => {
    const name = quoteName(columnOf(table, column, { path: ['order', index] }).name);
    return `${name}${descending ? ' desc' : ''}${nulls ? ` nulls ${nulls}` : ''}`;
  });
  const key = table.primaryKey.map((name) => quoteName(name));
  const isUnique = key.length > 0 && isKeyOfAllRows(table);
  const rest = isUnique ? key : [...key, ...positionColumns(table).map(({ name }) => name)];
  return [...requested, ...rest].join(', ') || '1';
}

/** Whether the primary key holds for all rows that the table shows. It does for partitions, but not for tables that inherit. */
function isKeyOfAllRows({ kind, position }: Table): boolean {
  return kind === 'p' || position === 'ctid';
}
