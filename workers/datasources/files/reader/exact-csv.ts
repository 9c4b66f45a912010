import type { DuckDBConnection } from '@duckdb/node-api';
import { columnTypes, literal } from './duckdb-sql.ts';

/**
 * DuckDB's reader of a CSV file, with a type for each column of numbers that holds all of their digits. Its own choice for a
 * number that is too long for BIGINT is DOUBLE, which makes another number of it. All rows are sampled: a type chosen from the
 * first rows would drop the zeros of a later `007`.
 */
export async function exactCsv(connection: DuckDBConnection, path: string, delimiter: string): Promise<string> {
  const reader = (types: Record<string, string> = {}) => {
    const named = Object.entries(types).map(([name, type]) => `${literal(name)}: ${literal(type)}`);
    const options = [
      'sample_size = -1',
      `delim = ${literal(delimiter)}`,
      ...(named.length > 0 ? [`types = {${named.join(', ')}}`] : []),
    ];
    return `read_csv_auto(${[literal(path), ...options].join(', ')})`;
  };

  const chosen = await columnTypes(connection, reader());
  const doubles = [...chosen].filter(([, type]) => type === 'DOUBLE').map(([name]) => name);
  if (doubles.length === 0) return reader();
  const texts = reader(Object.fromEntries(doubles.map((name) => [name, 'VARCHAR'])));
  const measured = await connection.runAndReadAll(`select ${doubles.map(measuresOf).join(', ')} from ${texts}`);
  const [measures = []] = measured.getRowsJson();
  const exact = doubles.map((name, n) => [name, typeOf(measures.slice(n * 5, n * 5 + 5))] as const);
  return reader(Object.fromEntries(exact.filter(([, type]) => type !== 'DOUBLE')));
}

/**
 * Five SQL expressions over a column of numbers: whether all are without an exponent; the largest number of significant digits, of
 * digits before the point and after it; the largest exponent.
 */
function measuresOf(name: string): string {
  const text = `"${name.replaceAll('"', '""')}"`;
  const mantissa = `regexp_replace(${text}, '[eE].*$', '')`;
  return [
    `bool_and(regexp_full_match(${text}, '-?\\d+(\\.\\d+)?'))`,
    `max(length(replace(regexp_replace(${mantissa}, '^[-+]?0*\\.?0*', ''), '.', '')))`,
    `max(length(regexp_extract(${text}, '^-?0*(\\d*)', 1)))`,
    `max(length(regexp_extract(${text}, '\\.(\\d+)', 1)))`,
    `max(abs(try_cast(regexp_extract(${text}, '[eE]([-+]?\\d+)$', 1) as bigint)))`,
  ].join(', ');
}

/** Chooses a type from the five measures. A double holds every number of 15 digits, except for very small and very large ones. */
function typeOf([isPlain, significant, whole, fraction, exponent]: readonly unknown[]): string {
  const [digits, before, after] = [Number(significant), Number(whole), Number(fraction)];
  if (digits <= 15 && Number(exponent) < 290 && before + after < 290) return 'DOUBLE';
  // DECIMAL has no exponents, and 38 digits.
  if (isPlain !== true || before + after > 38) return 'VARCHAR';
  return after === 0 ? 'HUGEINT' : `DECIMAL(${before + after}, ${after})`;
}
