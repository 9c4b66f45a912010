import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';
import { runPortal } from '../../connections/postgresql/portal.ts';
import { typeRows } from '../../connections/postgresql/rows.ts';
import { quoteTable, type Table } from '../catalog.ts';
import { conditionOf } from './filter.ts';
import { selection } from './list-rows.ts';
import { type Value, withValues } from './values.ts';

interface SingleChange {
  table: Table;
  filter: JsonObject;
  /** Number of rows that were changed. */
  count: number;
}

const BUDGET = { rows: 10, bytes: 64 * 1024 };

/** Refuses a change of one row that has changed none or several; the error has the rows that are there now. */
export async function checkSingle(
  connection: PostgresConnection,
  { table, filter, count }: SingleChange,
): Promise<void> {
  if (count === 1) return;
  const currentRows = await readCurrent(connection, table, { filter: keyIn(table, filter) ?? filter });
  throw new AppError('CONFLICT', messageOf(count, currentRows.length), { details: { currentRows } });
}

function messageOf(count: number, found: number): string {
  if (count > 1) return `is for one row, and ${count} rows match`;
  return found === 0
    ? 'the row is not there: it was deleted, or has another key'
    : 'the row was not changed: it has other values than the filter, a trigger or policy keeps it, or it is in a table that inherits';
}

async function readCurrent(
  connection: PostgresConnection,
  table: Table,
  filtered: { filter: JsonObject },
): Promise<JsonObject[]> {
  const values: Value[] = [];
  const where = conditionOf(filtered, table, values);
  const sql = `select ${selection(table)} from ${quoteTable(table)} where ${where} limit ${BUDGET.rows}`;
  const result = await withValues(values, (texts) => runPortal(connection, { sql, values: texts, budget: BUDGET }));
  const [typed] = await typeRows(connection, [result]);
  return typed?.rows ?? [];
}

/** The conditions on the primary key alone, if the filter has one for each of its columns: those on other columns may have failed. */
function keyIn({ primaryKey }: Table, filter: JsonObject): JsonObject | undefined {
  const conditions = primaryKey.map(
    (name) => [name, Object.hasOwn(filter, name) ? (filter[name] ?? null) : null] as const,
  );
  const isWhole = conditions.every(([, condition]) => isJsonObject(condition) && Object.hasOwn(condition, '='));
  return primaryKey.length > 0 && isWhole ? Object.fromEntries(conditions) : undefined;
}
