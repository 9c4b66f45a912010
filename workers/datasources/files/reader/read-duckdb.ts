import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  BIGINT,
  DuckDBArrayValue,
  DuckDBBlobValue,
  type DuckDBConnection,
  DuckDBDateValue,
  DuckDBInstance,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBUnionValue,
  type DuckDBValue,
  LIST,
  listValue,
  StatementType,
} from '@duckdb/node-api';
import { exactNumber } from '#shared/core/exact-number.ts';
import type { Json } from '#shared/core/json.ts';
import { fileTypes } from '#shared/datasources/files/types.ts';
import { DECODED, InvalidField, type ReadableFile, ReadFailure, type SqlRequest } from '../protocol.ts';
import { readCsvText } from './csv-text.ts';
import { literal } from './duckdb-sql.ts';
import { exactCsv } from './exact-csv.ts';
import { exactJSON } from './exact-json.ts';
import { collectRows } from './rows.ts';

type NamedFile = SqlRequest['files'][number];

/** The last database with its files loaded. It can be used again for the same files, since statements may only read. */
let loaded: { key: string; connection: Promise<DuckDBConnection> } | undefined;

export async function readDuckdb({ files, sql, params, maxRows }: SqlRequest): Promise<string> {
  const key = JSON.stringify(files);
  if (loaded?.key !== key) loaded = { key, connection: load(files) };
  const { connection } = loaded;
  connection.catch(() => {
    loaded = undefined;
  });
  try {
    const statement = await prepareReading(await connection, sql);
    for (const [index, value] of params.entries()) statement.bindValue(index + 1, toParam(value), typeOf(value));
    const result = await statement.stream();
    const columns = result.columnNames().map((name, index) => ({ name, type: result.columnType(index).toString() }));
    const rows = collectRows(
      columns.map(({ name }) => name),
      maxRows,
    );
    for (let isWanted = true; isWanted; ) {
      const chunk = await result.fetchChunk();
      if (!chunk || chunk.rowCount === 0) break;
      isWanted = chunk.getRows().every((row) => rows.add(row.map(toJSON)));
    }
    return rows.toJSON(columns);
  } catch (error) {
    throw explain(error);
  }
}

/**
 * Loads the files into tables and then locks the database: SQL can reach no file, address, extension or setting. Views would
 * need access to the files, for writing as well.
 */
async function load(files: readonly NamedFile[]): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '1',
    memory_limit: '256MB',
    temp_directory: '',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_unsigned_extensions: 'false',
  });
  const connection = await instance.connect();
  await connection.run("set timezone = 'UTC'").catch(() => undefined);
  for (const file of files) await loadFile(connection, file);
  await connection.run('set enable_external_access = false');
  await connection.run('set lock_configuration = true');
  return connection;
}

async function loadFile(connection: DuckDBConnection, { name, ...file }: NamedFile): Promise<void> {
  // The process may write only files of this name.
  const copyPath = join(dirname(file.path), `${DECODED}${process.pid}`);
  try {
    const reader = await readerOf(connection, file, copyPath);
    await connection.run(`create table "${name.replaceAll('"', '""')}" as select * from ${reader}`);
  } catch (error) {
    const known = explain(error);
    const message = known instanceof Error ? known.message : 'unknown';
    const shown = message.replaceAll(copyPath, name).replaceAll(file.path, name);
    throw new ReadFailure(`The file of "${name}" cannot be read: ${shown}`);
  } finally {
    await rm(copyPath, { force: true });
  }
}

async function readerOf(connection: DuckDBConnection, file: ReadableFile, copyPath: string): Promise<string> {
  const { path, fileType } = file;
  if (fileType === fileTypes.parquet) return `read_parquet(${literal(path)})`;
  if (fileType === fileTypes.json) return exactJSON(connection, path, copyPath);
  if (fileType === fileTypes.tsv || fileType === fileTypes.csv) {
    const read = await inUTF8(file, copyPath);
    return exactCsv(connection, read.path, read.delimiter);
  }
  throw new InvalidField(
    'datasourceOptions.files',
    'must be CSV, TSV, JSON or Parquet; use "excelcsv" for an Excel file',
  );
}

/** A CSV file that DuckDB can read: the file, or a copy of it in UTF-8 if it is in another encoding. */
async function inUTF8(
  { path, fileType }: ReadableFile,
  copyPath: string,
): Promise<{ path: string; delimiter: string }> {
  const { isUTF8, delimiter, decode } = readCsvText(await readFile(path), fileType);
  if (isUTF8) return { path, delimiter };
  await writeFile(copyPath, decode(), { mode: 0o600 });
  return { path: copyPath, delimiter };
}

async function prepareReading(connection: DuckDBConnection, sql: string) {
  const statements = await connection.extractStatements(sql);
  if (statements.count !== 1) throw new InvalidField('query', 'must be one statement');
  const statement = await statements.prepare(0);
  if (statement.statementType !== StatementType.SELECT && statement.statementType !== StatementType.EXPLAIN)
    throw new InvalidField('query', 'must be a SELECT or an EXPLAIN of one');
  return statement;
}

function toParam(value: Json): DuckDBValue {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return isPlain(value) ? listValue(value.map(toParam)) : JSON.stringify(value);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

/** The type to bind a value with. Without it the driver would bind integers with a larger type than BIGINT. */
function typeOf(value: Json): DuckDBType | undefined {
  if (Number.isSafeInteger(value)) return BIGINT;
  const [first] = Array.isArray(value) && isPlain(value) ? value : [];
  const inner = first === undefined ? undefined : typeOf(first);
  return inner && LIST(inner);
}

/** Whether all elements have one type, as DuckDB's lists require. */
function isPlain(values: readonly Json[]): boolean {
  const kinds = new Set(values.map((value) => (Number.isSafeInteger(value) ? 'integer' : typeof value)));
  return kinds.size === 1 && !kinds.has('object');
}

function toJSON(value: DuckDBValue): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return exactNumber(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  return timeToJSON(value) ?? nestedToJSON(value) ?? value.toString();
}

/** Writes times in UTC; those of a type with a time zone end with Z. */
function timeToJSON(value: object): string | undefined {
  if (value instanceof DuckDBDateValue) return value.toString();
  if (value instanceof DuckDBTimestampTZValue) {
    const local = new DuckDBTimestampValue(value.micros).toString();
    return local.startsWith('inf') || local.startsWith('-inf') ? local : `${local.replace(' ', 'T')}Z`;
  }
  return timestamps.some((type) => value instanceof type) ? String(value).replace(' ', 'T') : undefined;
}

const timestamps = [
  DuckDBTimestampValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
];

function nestedToJSON(value: object): Json | undefined {
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString('base64');
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) return value.items.map(toJSON);
  if (value instanceof DuckDBStructValue)
    return Object.fromEntries(Object.entries(value.entries).map(([name, item]) => [name, toJSON(item)]));
  if (value instanceof DuckDBMapValue)
    return value.entries.map(({ key, value: item }) => ({ key: toJSON(key), value: toJSON(item) }));
  return value instanceof DuckDBUnionValue ? toJSON(value.value) : undefined;
}

function explain(error: unknown): unknown {
  if (error instanceof ReadFailure || !(error instanceof Error)) return error;
  const line = /^LINE (\d+):/m.exec(error.message)?.[1];
  return new ReadFailure(error.message.split('\n\nLINE ')[0] ?? '', line ? { line: Number(line) } : null);
}
