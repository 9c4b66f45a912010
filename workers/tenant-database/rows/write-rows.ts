import { AppError } from '#shared/core/errors.ts';
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
import { conditionOf } from './filter.ts';
import { selection } from './list-rows.ts';
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
  return inRowTransaction(connection, async () => {
    const results = await allOrNothing(connection, operation.rows, {
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
  const { rowCount } = await withValues(values, (texts) => connection.query(sql, texts));
  return { message: 'Rows deleted', deletedRowCount: rowCount ?? 0 };
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
  const { data, where: filter, all, isKeyed } = change;
  if (!isKeyed && isEmptyFilter(filter) && !all) throw affectsEveryRow(['where']);
  const key = isKeyed ? keyOf(table, data) : [];
  const values: Value[] = [];
  const assign = (name: string) => {
    const path = [...dataAt(change), name];
    const column = columnOf(table, name, { path, isWritten: true });
    values.push(encodedValue(data[name] ?? null, column, path));
    return `${quoteName(column.name)} = $${values.length}`;
  };
  const sets = Object.keys(data)
    .filter((name) => !key.includes(name))
    .map(assign);
  if (sets.length === 0 && isKeyed)
    throw invalid([{ path: [], message: 'must contain a column besides the primary key' }]);
  if (sets.length === 0) throw invalidField('data', 'must contain a column');
  const where = isKeyed ? key.map(assign).join(' and ') : conditionOf({ filter }, table, values);
  return { text: `update ${quoteTable(table)} set ${sets.join(', ')} where ${where}`, values };
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
  { statementOf, columnsAt }: RowWork<T>,
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
  const rowErrors: RowError[] = [];
  for (const [index, item] of items.entries()) {
    await connection.query('savepoint before_one');
    try {
      results.push(await run(connection, statementOf(item)));
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

function run(connection: PostgresConnection, { text, values }: Statement): Promise<RawResult> {
  return withValues(values, (texts) => runPortal(connection, { sql: text, values: texts, budget: BUDGET }));
}

interface RowError {
  index: number;
  error: AppError;
  issues: [Issue, ...Issue[]];
}

/** The error of a row; undefined for errors that are not about a row, such as a timeout or a lost connection. */
function rowErrorOf(thrown: unknown): AppError | undefined {
  const error = thrown instanceof AppError ? thrown : statementError(thrown);
  return error?.code === 'DB_ERROR' || error?.code === 'VALIDATION_ERROR' ? asConflict(error) : undefined;
}

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
