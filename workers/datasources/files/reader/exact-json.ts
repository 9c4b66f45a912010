import { readFile, writeFile } from 'node:fs/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { quoteLossy } from '#shared/core/lossless-json.ts';
import { columnTypes, literal } from './duckdb-sql.ts';

/**
 * DuckDB's reader of a JSON file. DuckDB gives a column with a fraction the type DOUBLE, which changes the numbers in it that a double does
 * not hold. So such numbers are quoted in a copy of the file, and a column that has one is read as texts; columns of integers keep their
 * type. All values are sampled: an integer type chosen from the first ones would round a later fraction.
 */
export async function exactJSON(connection: DuckDBConnection, path: string, copyPath: string): Promise<string> {
  const text = await readFile(path, 'utf8');
  const quoted = quoteLossy(text, { maxLevels: Number.POSITIVE_INFINITY });
  if (quoted === text) return readerOf(path);
  await writeFile(copyPath, quoted, { mode: 0o600 });
  const types = await columnTypes(connection, readerOf(path));
  const quotedTypes = await columnTypes(connection, readerOf(copyPath));
  const columns = [...types].map(([name, type]) => {
    const exact = withTexts(type, quotedTypes.get(name) ?? '');
    return `${literal(name)}: ${literal(exact)}`;
  });
  return readerOf(copyPath, [`columns = {${columns.join(', ')}}`]);
}

function readerOf(path: string, options: readonly string[] = []): string {
  return `read_json_auto(${[literal(path), 'sample_size = -1', ...options].join(', ')})`;
}

/** The type with VARCHAR for each DOUBLE, unless the copy with quotes has DOUBLE, too, at the same place of a nested type. */
function withTexts(type: string, quotedType: string): string {
  const [words, others] = [wordsOf(type), wordsOf(quotedType)];
  const isAlike = words.length === others.length;
  return words.map((word, at) => (word === DOUBLE && !(isAlike && others[at] === DOUBLE) ? 'VARCHAR' : word)).join('');
}

const DOUBLE = 'DOUBLE';

/** The words of a type, its quoted names and the characters between them. */
function wordsOf(type: string): string[] {
  return type.match(/"(?:[^"]|"")*"|\w+|\W/g) ?? [];
}
