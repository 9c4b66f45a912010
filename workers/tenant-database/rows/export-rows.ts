import { toAppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import {
  DATABASE_EXPORT,
  type DatabaseExport,
  type DatabaseOperationOf,
} from '#shared/messaging/queues/tenant-database.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';
import { streamRows } from '../../connections/postgresql/rows.ts';
import { createResultPages } from '../../connections/result-pages.ts';
import { findTable, quoteTable } from '../catalog.ts';
import type { OperationContext } from '../context.ts';
import { quoteName } from '../quote.ts';
import { conditionOf } from './filter.ts';
import { ordering } from './list-rows.ts';
import { type Value, withValues } from './values.ts';

const NO_LIMIT = { rows: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER };
const ROWS_PER_PAGE = 10_000;

/** Stores the rows that match the filter at one moment in pages: all rows or none. */
export async function exportRows(
  connection: PostgresConnection,
  operation: DatabaseOperationOf<'exportRows'>,
  { tenantID, pool, secrets }: OperationContext,
): Promise<DatabaseExport> {
  const table = await findTable(connection, operation);
  const values: Value[] = [];
  const where = conditionOf(operation, table, values);
  const columns = table.columns.map(({ name, type }) => ({ name, type }));
  const selected = columns.map(({ name }) => quoteName(name)).join(', ') || 'null as empty';
  const sql = `select ${selected} from ${quoteTable(table)} where ${where} order by ${ordering(table, operation)}`;

  const owner = { tenantID, source: DATABASE_EXPORT, callerID: operation.callerID };
  await using paged = createResultPages({ pool, secrets }, owner, ROWS_PER_PAGE);
  await withValues(values, (texts) =>
    streamRows(connection, { sql, values: texts, budget: NO_LIMIT }, (rows) => paged.add(rows).catch(rethrow)),
  );
  const { firstPage, ...rest } = await paged.finish();
  return { columns, rows: firstPage as JsonObject[], ...rest };
}

/** Makes an error of our own an AppError, so that it is not reported as one of the tenant's database. */
function rethrow(error: unknown): never {
  throw toAppError(error);
}
