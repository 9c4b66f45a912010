import { AppError } from '#shared/errors.ts';
import type { Json, JsonObject } from '#shared/json.ts';
import type { DatabaseOperationOf } from '#shared/queues/tenant-database.ts';
import { ask } from '../postgresql/portal.ts';
import { typeRows } from '../postgresql/rows.ts';
import type { PostgresClient } from '../postgresql/session.ts';
import { findTable, quoteTable } from './catalog.ts';
import { conditionOf, type Values } from './filter.ts';
import { countRows, ordering } from './list-rows.ts';
import { quoteName } from './quote.ts';

const BUDGET = { rows: 100_000, bytes: 5 * 1024 * 1024 };

/** What the filter finds as one file, whole or not at all. */
export async function exportRows(
  client: PostgresClient,
  operation: DatabaseOperationOf<'exportRows'>,
): Promise<JsonObject> {
  const table = await findTable(client, operation);
  const values: Values = [];
  const where = conditionOf(operation.filter, table, values);
  const names = table.columns.map(({ name }) => name);
  const selected = names.map((name) => quoteName(name)).join(', ') || 'null as empty';
  const text = `select ${selected} from ${quoteTable(table)} where ${where} order by ${ordering(table, operation.order)}`;
  const result = await ask(client, { sql: text, values, budget: BUDGET });
  if (result.isCut)
    throw new AppError(
      'PAYLOAD_TOO_LARGE',
      `These are more than ${BUDGET.rows} rows or ${BUDGET.bytes} bytes: narrow them with a filter`,
    );
  const [typed] = await typeRows(client, [result]);
  const rows = typed?.rows ?? [];
  return { content: operation.format === 'json' ? JSON.stringify(rows) : toCSV(names, rows) };
}

export async function readStatistics(
  client: PostgresClient,
  operation: DatabaseOperationOf<'readStatistics'>,
): Promise<JsonObject> {
  const table = await findTable(client, operation);
  const { rows } = await client.query<{ bytes: number; estimate: number }>(
    `select coalesce(pg_total_relation_size($1::oid), 0)::float8 as bytes, c.reltuples::float8 as estimate
     from pg_catalog.pg_class c where c.oid = $1::oid`,
    [table.id],
  );
  return {
    databaseTableStatistics: {
      databaseTableRowCount: await countRows(client, table, operation.filter),
      estimatedRowCount: Math.max(rows[0]?.estimate ?? 0, 0),
      sizeBytes: rows[0]?.bytes ?? 0,
    },
  };
}

/** RFC 4180: a null is nothing, an empty text is `""`. */
function toCSV(names: readonly string[], rows: readonly JsonObject[]): string {
  const lines = [names.map(asCell), ...rows.map((row) => names.map((name) => asCell(row[name] ?? null)))];
  return lines.map((cells) => `${cells.join(',')}\r\n`).join('');
}

function asCell(value: Json): string {
  if (value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
