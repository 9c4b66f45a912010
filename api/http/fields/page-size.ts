import { currentReservation } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Query } from '#shared/db/query.ts';

interface Page {
  table: string;
  /** Columns with what tenants have written: up to 5 MB in a row. */
  columns: readonly string[];
  rows: readonly Measured[];
}

/** A row before its large columns are read. */
export interface Measured {
  id: string;
  /** Bytes that Postgres stores for its large columns. */
  stored: number;
}

/** The same limit as for a response of a worker. */
const MAX_BYTES = 16 * 1024 ** 2;
/** Postgres stores a text in a 256th of its size at best. */
const MAX_COMPRESSION = 256;
/** Values with fewer bytes are not reserved. */
export const SMALL = 50_000;

/** SQL of `stored`: Postgres knows it without reading the values. */
export function storedSize(columns: readonly string[]): string {
  return columns.map((column) => `coalesce(pg_column_size(${column}), 0)`).join(' + ');
}

/**
 * Requires that the rows of a page fit into a response, before they are read: 1,000 rows of 5 MB are more memory than the process has. A
 * page of one row always fits. Reserves memory for the rows until the calling work ends.
 */
export async function requireFits(query: Query, { table, columns, rows }: Page): Promise<void> {
  const stored = rows.reduce((sum, row) => sum + row.stored, 0);
  const isSmall = stored * MAX_COMPRESSION <= MAX_BYTES;
  const bytes = isSmall ? stored : await textSize(query, { table, columns, rows });
  if (bytes > MAX_BYTES && rows.length > 1)
    throw new AppError(
      'PAYLOAD_TOO_LARGE',
      `The page is larger than ${MAX_BYTES} bytes: ask for fewer rows with pageSize or limit`,
      { details: { rows: rows.length, maxBytes: MAX_BYTES } },
    );
  await holdText(bytes);
}

/**
 * Reserves memory for text before it is read: twice its bytes, for the rows as read and for the response that is written
 * from them.
 */
export async function holdText(bytes: number): Promise<void> {
  if (bytes > SMALL) await currentReservation()?.reserve(2 * bytes);
}

async function textSize(query: Query, { table, columns, rows }: Page): Promise<number> {
  const ids = rows.map(({ id }) => id);
  const { rows: found } = await query<{ bytes: number }>(textSizeOf({ table, columns }), [
    `{${ids.join(',')}}`,
    MAX_BYTES,
  ]);
  return found.at(-1)?.bytes ?? 0;
}

/** SQL that measures one row after another, and none once their sum is over the limit. */
export function textSizeOf({ table, columns }: Pick<Page, 'table' | 'columns'>): string {
  const size = columns.map((column) => `coalesce(octet_length(${column}::text), 0)`).join(' + ');
  return `
select bytes from (
  select sum(${size}) over (rows unbounded preceding)::float8 as bytes,
         row_number() over (rows unbounded preceding) as n
  from ${table} where id = any($1::uuid[])
) page
where bytes > $2 or n = cardinality($1::uuid[])
limit 1`;
}
