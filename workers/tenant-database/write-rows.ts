import { isEmptyFilter } from '#shared/database-filter.ts';
import { AppError } from '#shared/errors.ts';
import type { Json, JsonObject } from '#shared/json.ts';
import type { DatabaseOperationOf } from '#shared/queues/tenant-database.ts';
import type { PostgresConnection } from '../postgresql/connection.ts';
import { statementError } from '../postgresql/errors.ts';
import { type RawResult, readTag, runPortal } from '../postgresql/portal.ts';
import { typeRows } from '../postgresql/rows.ts';
import { type Column, columnOf, findTable, quoteTable, type Table } from './catalog.ts';
import { encode } from './encode.ts';
import { conditionOf } from './filter.ts';
import { selection } from './list-rows.ts';
import { quoteName } from './quote.ts';
import { inTenantTransaction } from './transaction.ts';
import { type Value, withValues } from './values.ts';

const BUDGET = { rows: 10_000, bytes: 8 * 1024 * 1024 };
const MAX_ERRORS = 100;

interface Statement {
  text: string;
  values: Value[];
}

/** Adds all rows or none, and reports every row that cannot be added. */
export async function addRows(
  connection: PostgresConnection,
  operation: DatabaseOperationOf<'addRows'>,
): Promise<JsonObject> {
  const table = await findTable(connection, operation);
  return inTenantTransaction(connection, async () => {
    const results = await allOrNothing(connection, operation.rows, (row) => insertionOf(table, row));
    const typed = await typeRows(connection, results);
    const rows = typed.flatMap((one) => one.rows);
    return { message: 'Rows added', updatedRowCount: operation.rows.length, databaseTableRows: rows };
  });
}

export async function updateRows(
  connection: PostgresConnection,
  operation: DatabaseOperationOf<'updateRows'>,
): Promise<JsonObject> {
  const table = await findTable(connection, operation);
  const results = await inTenantTransaction(connection, () =>
    allOrNothing(connection, operation.changes, (change) => updateOf(table, change)),
  );
  const updatedRowCount = results.reduce((sum, { tag }) => sum + (readTag(tag ?? '').count ?? 0), 0);
  return { message: 'Rows updated', updatedRowCount };
}

export async function deleteRows(
  connection: PostgresConnection,
  operation: DatabaseOperationOf<'deleteRows'>,
): Promise<JsonObject> {
  const table = await findTable(connection, operation);
  if (isEmptyFilter(operation.filter) && !operation.all) throw everything(operation.filterField);
  const values: Value[] = [];
  const where = conditionOf(operation, table, values);
  const sql = `delete from ${quoteTable(table)} where ${where}`;
  const { rowCount } = await withValues(values, (texts) => connection.query(sql, texts));
  return { message: 'Rows deleted', deletedRowCount: rowCount ?? 0 };
}

function everything(field: string): AppError {
  return new AppError('VALIDATION_ERROR', `${field}: excludes no row; send "all": true to mean every row`);
}

function insertionOf(table: Table, row: JsonObject): Statement {
  const names = Object.keys(row);
  const columns = names.map((name) => columnOf(table, name, 'data'));
  const values = columns.map((column) => encoded(row[column.name] ?? null, column));
  const into = `insert into ${quoteTable(table)}`;
  const returning = `returning ${selection(table)}`;
  if (names.length === 0) return { text: `${into} default values ${returning}`, values };
  const list = columns.map(({ name }) => quoteName(name)).join(', ');
  const places = columns.map((_column, at) => `$${at + 1}`).join(', ');
  return { text: `${into} (${list}) values (${places}) ${returning}`, values };
}

function encoded(value: Json, column: Column): Value {
  return { text: encode(value, column, 'data'), column, field: 'data' };
}

type Change = DatabaseOperationOf<'updateRows'>['changes'][number];

function updateOf(table: Table, { data, where: filter, whereField: filterField, all }: Change): Statement {
  if (isEmptyFilter(filter) && !all) throw everything(filterField);
  const values: Value[] = [];
  const sets = Object.entries(data).map(([name, value]) => {
    const column = columnOf(table, name, 'data');
    values.push(encoded(value, column));
    return `${quoteName(column.name)} = $${values.length}`;
  });
  if (sets.length === 0) throw new AppError('VALIDATION_ERROR', 'data: must contain a column');
  return {
    text: `update ${quoteTable(table)} set ${sets.join(', ')} where ${conditionOf({ filter, filterField }, table, values)}`,
    values,
  };
}

/**
 * Runs statements in the open transaction. Usually all succeed, and only the statements are sent. After an error all are undone
 * and repeated one by one, to find all other errors as well.
 */
async function allOrNothing<T>(
  connection: PostgresConnection,
  items: readonly T[],
  statementOf: (item: T) => Statement,
): Promise<RawResult[]> {
  await connection.query('savepoint before_all');
  try {
    const results: RawResult[] = [];
    for (const item of items) results.push(await run(connection, statementOf(item)));
    return results;
  } catch (error) {
    if (!rowErrorOf(error)) throw error;
  }
  await connection.query('rollback to savepoint before_all');
  const results: RawResult[] = [];
  const rowErrors: { index: number; error: AppError }[] = [];
  for (const [index, item] of items.entries()) {
    await connection.query('savepoint before_one');
    try {
      results.push(await run(connection, statementOf(item)));
    } catch (thrown) {
      const error = rowErrorOf(thrown);
      if (!error) throw thrown;
      rowErrors.push({ index, error });
      await connection.query('rollback to savepoint before_one');
    }
    if (rowErrors.length === MAX_ERRORS) break;
  }
  if (rowErrors.length > 0) throw summaryOf(rowErrors, items.length);
  return results;
}

function run(connection: PostgresConnection, { text, values }: Statement): Promise<RawResult> {
  return withValues(values, (texts) => runPortal(connection, { sql: text, values: texts, budget: BUDGET }));
}

/** The error of a row; undefined for errors that are not about a row, such as a timeout or a lost connection. */
function rowErrorOf(thrown: unknown): AppError | undefined {
  const error = thrown instanceof AppError ? thrown : statementError(thrown);
  return error?.code === 'DB_ERROR' || error?.code === 'VALIDATION_ERROR' ? error : undefined;
}

function summaryOf(rowErrors: readonly { index: number; error: AppError }[], count: number): AppError {
  const errors = rowErrors.map(({ index, error: { code, message, details } }) => ({
    ...(details as object | undefined),
    index,
    code,
    message,
  }));
  const isOurs = rowErrors.every(({ error }) => error.code === 'VALIDATION_ERROR');
  const first = errors[0];
  return new AppError(
    isOurs ? 'VALIDATION_ERROR' : 'DB_ERROR',
    `${errors.length} of ${count} rows cannot be written, and nothing was changed; databaseTableRowData.${first?.index}: ${first?.message}`,
    { details: { errors } },
  );
}
