import { AppError, type ErrorCode } from '#shared/core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import { type Issue, invalid, invalidField, type Path, within } from '#shared/core/schema/issues.ts';
import { isEmptyFilter } from '#shared/datasources/tenant-database/filter.ts';
import type { DatabaseOperationOf } from '#shared/messaging/queues/tenant-database.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';
import { statementError } from '../../connections/postgresql/errors.ts';
import { type RawResult, readTag, runPortal } from '../../connections/postgresql/portal.ts';
import { typeRows } from '../../connections/postgresql/rows.ts';
import { type Column, columnOf, findTable, quoteTable, type Table } from '../catalog.ts';
import { quoteName } from '../quote.ts';
import { inTenantTransaction } from '../transaction.ts';
import { encode } from './encode.ts';
import { conditionOf, placeholder } from './filter.ts';
import { selection } from './list-rows.ts';
import { checkSingle } from './single-row.ts';
import { type Value, withValues } from './values.ts';

const BUDGET = { rows: 10_000, bytes: 8 * 1024 * 1024 };
const MAX_ERRORS = 100;

interface Statement {
  text: string;
  values: Value[];
  /** Filter of the one row that must be changed; undefined where any number may be. */
  single?: JsonObject;
}

/** Adds all rows or none, and reports every row that cannot be added. */
export async function addRows(
  connection: PostgresConnection,
  operation: DatabaseOperationOf<'addRows'>,
): Promise<JsonObject> {
  const table = await findTable(connection, operation);
  return inRowTransaction(connection, async () => {
    const results = await allOrNothing(connection, operation.rows, {
      table,
      statementOf: (row) => insertionOf(table, row),
      columnsAt: () => [],
    });
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
  const results = await inRowTransaction(connection, () =>
    allOrNothing(connection, operation.changes, {
      table,
      statementOf: (change) => updateOf(table, change),
      columnsAt: dataAt,
    }),
  );
  const updatedRowCount = results.reduce((sum, { tag }) => sum + (readTag(tag ?? '').count ?? 0), 0);
  return { message: 'Rows updated', updatedRowCount };
}

export async function deleteRows(
  connection: PostgresConnection,
  operation: DatabaseOperationOf<'deleteRows'>,
): Promise<JsonObject> {
  const table = await findTable(connection, operation);
  if (isEmptyFilter(operation.filter) && !operation.all) throw affectsEveryRow(['where']);
  const values: Value[] = [];
  const where = conditionOf(operation, table, values);
  const sql = `delete from ${quoteTable(table)} where ${where}`;
  const remove = async () => (await withValues(values, (texts) => connection.query(sql, texts))).rowCount ?? 0;
  const removeSingle = async () => {
    const count = await remove();
    await checkSingle(connection, { table, filter: operation.filter ?? {}, count });
    return count;
  };
  const deletedRowCount = await (operation.single ? inRowTransaction(connection, removeSingle) : remove());
  return { message: 'Rows deleted', deletedRowCount };
}

/** Runs work in a transaction. Maps errors of the commit, too, at which a deferred constraint reports a duplicate. */
async function inRowTransaction<T>(connection: PostgresConnection, work: () => Promise<T>): Promise<T> {
  try {
    return await inTenantTransaction(connection, work);
  } catch (error) {
    const known = statementError(error);
    throw known ? asConflict(known) : error;
  }
}

function affectsEveryRow(path: (string | number)[]): AppError {
  return invalid([{ path, message: 'excludes no row; send "all": true to mean every row' }]);
}

function insertionOf(table: Table, row: JsonObject): Statement {
  const names = Object.keys(row);
  const columns = names.map((name) => columnOf(table, name, { path: [name], isWritten: true }));
  const values = columns.map((column) => encodedValue(row[column.name] ?? null, column, [column.name]));
  const into = `insert into ${quoteTable(table)}`;
  const returning = `returning ${selection(table)}`;
  if (names.length === 0) return { text: `${into} default values ${returning}`, values };
  const list = columns.map(({ name }) => quoteName(name)).join(', ');
  const placeholders = columns.map((_column, at) => `$${at + 1}`).join(', ');
  return { text: `${into} (${list}) values (${placeholders}) ${returning}`, values };
}

function encodedValue(value: Json, column: Column, path: Path): Value {
  return { text: encode(value, column, path), column, path };
}

type Change = DatabaseOperationOf<'updateRows'>['changes'][number];

function updateOf(table: Table, change: Change): Statement {
  const { data, where: filter, all, isKeyed, single } = change;
  if (!isKeyed && isEmptyFilter(filter) && !all) throw affectsEveryRow(['where']);
  const key = isKeyed ? keyOf(table, data) : [];
  const values: Value[] = [];
  const bind = (name: string) => {
    const path = [...dataAt(change), name];
    const column = columnOf(table, name, { path, isWritten: true });
    return values.push(encodedValue(data[name] ?? null, column, path));
  };
  const sets = Object.keys(data)
    .filter((name) => !key.includes(name))
    .map((name) => `${quoteName(name)} = $${bind(name)}`);
  if (sets.length === 0 && isKeyed)
    throw invalid([{ path: [], message: 'must contain a column besides the primary key' }]);
  if (sets.length === 0) throw invalidField('data', 'must contain a column');
  if (!isKeyed) {
    const where = conditionOf({ filter }, table, values);
    const text = `update ${quoteTable(table)} set ${sets.join(', ')} where ${where}`;
    return { text, values, ...(single && { single: filter ?? {} }) };
  }
  const is = key.map((name) => `${quoteName(name)} = ${placeholder(bind(name), keyColumn(table, name))}`);
  // The key of a table does not hold for the tables that inherit from it; that of a partitioned table holds for its partitions.
  const only = table.kind === 'r' ? 'only ' : '';
  const text = `update ${only}${quoteTable(table)} set ${sets.join(', ')} where ${is.join(' and ')}`;
  return { text, values, single: filterOf(key, data) };
}

const keyColumn = (table: Table, name: string) => columnOf(table, name, { path: [name] });

function filterOf(key: readonly string[], data: JsonObject): JsonObject {
  return Object.fromEntries(key.map((name) => [name, { '=': data[name] ?? null }]));
}

function dataAt({ isKeyed }: Change): Path {
  return isKeyed ? [] : ['data'];
}

function keyOf({ primaryKey, table }: Table, data: JsonObject): string[] {
  const longForm = 'send {"data": {…}, "where": {…}} for other rows';
  if (primaryKey.length === 0) throw invalid([{ path: [], message: `"${table}" has no primary key; ${longForm}` }]);
  const missing = primaryKey.filter((name) => !Object.hasOwn(data, name) || data[name] === null);
  if (missing.length > 0)
    throw invalid(
      missing.map((name) => ({ path: [name], message: `is required, as part of the primary key; ${longForm}` })),
    );
  return primaryKey;
}

interface RowWork<T> {
  table: Table;
  statementOf(item: T): Statement;
  /** Path of the columns in an item. */
  columnsAt(item: T): Path;
}

/**
 * Runs statements in the open transaction. Usually all succeed, and nothing but the statements is sent. After an error all are rolled
 * back and repeated with a savepoint for each, to find the errors of all rows.
 */
async function allOrNothing<T>(
  connection: PostgresConnection,
  items: readonly T[],
  { table, statementOf, columnsAt }: RowWork<T>,
): Promise<RawResult[]> {
  await connection.query('savepoint before_all');
  try {
    const results: RawResult[] = [];
    for (const item of items) results.push(await run(connection, table, statementOf(item)));
    return results;
  } catch (error) {
    if (!rowErrorOf(error)) throw error;
  }
  await connection.query('rollback to savepoint before_all');
  const results: RawResult[] = [];
  const rowErrors: RowError[] = [];
  for (const [index, item] of items.entries()) {
    await connection.query('savepoint before_one');
    try {
      results.push(await run(connection, table, statementOf(item)));
    } catch (thrown) {
      const error = rowErrorOf(thrown);
      if (!error) throw thrown;
      rowErrors.push({ index, error, issues: issuesOf(error, columnsAt(item)) });
      await connection.query('rollback to savepoint before_one');
    }
    if (rowErrors.length === MAX_ERRORS) break;
  }
  if (rowErrors.length > 0) throw summaryOf(rowErrors, items.length);
  return results;
}

async function run(
  connection: PostgresConnection,
  table: Table,
  { text, values, single }: Statement,
): Promise<RawResult> {
  const result = await withValues(values, (texts) =>
    runPortal(connection, { sql: text, values: texts, budget: BUDGET }),
  );
  if (single) await checkSingle(connection, { table, filter: single, count: readTag(result.tag ?? '').count ?? 0 });
  return result;
}

interface RowError {
  index: number;
  error: AppError;
  issues: [Issue, ...Issue[]];
}

/** The error of a row; undefined for errors that are not about a row, such as a timeout or a lost connection. */
function rowErrorOf(thrown: unknown): AppError | undefined {
  const error = thrown instanceof AppError ? thrown : statementError(thrown);
  return error && ROW_ERRORS.has(error.code) ? asConflict(error) : undefined;
}

const ROW_ERRORS: ReadonlySet<ErrorCode> = new Set(['DB_ERROR', 'VALIDATION_ERROR', 'CONFLICT']);
const UNIQUE_VIOLATION = '23505';

/** Makes a CONFLICT of a duplicate; the server's message names the constraint. */
function asConflict(error: AppError): AppError {
  const { details, message, cause } = error;
  const isDuplicate = isJsonObject(details) && details.postgres_code === UNIQUE_VIOLATION;
  return isDuplicate ? new AppError('CONFLICT', message, { cause, details }) : error;
}

function summaryOf(rowErrors: readonly RowError[], count: number): AppError {
  const errors = rowErrors.map(({ index, error, issues: [{ message }] }) => {
    const { issues: _issues, ...details } = isJsonObject(error.details) ? error.details : {};
    return { ...details, index, code: error.code, message };
  });
  const issues = rowErrors.flatMap((one) => within(['databaseTableRowData', one.index], one.issues));
  const codes = ['VALIDATION_ERROR', 'CONFLICT'] as const;
  return invalid(issues, {
    code: codes.find((code) => rowErrors.every(({ error }) => error.code === code)) ?? 'DB_ERROR',
    summary: `${errors.length} of ${count} rows cannot be written, and nothing was changed`,
    details: { errors },
  });
}

/** The issues of one item. An error of the server may name a column; it may also be about the whole row. */
function issuesOf({ details, message }: AppError, columnsAt: Path): [Issue, ...Issue[]] {
  const { issues, column } = (details ?? {}) as { issues?: [Issue, ...Issue[]]; column?: string };
  return issues ?? [{ path: column === undefined ? [] : [...columnsAt, column], message }];
}
