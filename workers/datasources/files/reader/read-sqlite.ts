import { constants, DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { exactNumber } from '#shared/core/exact-number.ts';
import type { Json } from '#shared/core/json.ts';
import { InvalidField, ReadFailure, type SqlRequest } from '../protocol.ts';
import { collectRows } from './rows.ts';

const HEAP_BYTES = 256 * 1024 * 1024;

/** Actions that a statement may do. A statement with others is refused when it is prepared: writing, ATTACH, PRAGMAs with an effect. */
const allowed: ReadonlySet<number> = new Set([
  constants.SQLITE_SELECT,
  constants.SQLITE_READ,
  constants.SQLITE_RECURSIVE,
]);
const readingPragmas: ReadonlySet<string> = new Set([
  'table_info',
  'table_xinfo',
  'table_list',
  'index_list',
  'index_info',
  'foreign_key_list',
]);

/** Runs one statement on a database that is opened as immutable: without locks and without a journal. */
export function readSqlite({ files, sql, params, maxRows }: SqlRequest): string {
  const [file] = files;
  if (!file) throw new Error('A question to SQLite has a file');
  const url = pathToFileURL(file.path);
  url.search = '?immutable=1&mode=ro';
  try {
    using database = new DatabaseSync(url, { readOnly: true, readBigInts: true, defensive: true });
    database.exec(`pragma trusted_schema = off; pragma hard_heap_limit = ${HEAP_BYTES}`);
    database.setAuthorizer((action, first, second) => (isAllowed(action, first, second) ? OK : DENY));
    const statement = database.prepare(sql);
    if (hasMore(sql.slice(statement.sourceSQL.length))) throw new InvalidField('query', 'must be one statement');
    const columns = statement.columns().map(({ name, type }) => ({ name, type: type ?? '' }));
    statement.setReturnArrays(true);
    const rows = collectRows(
      columns.map(({ name }) => name),
      maxRows,
    );
    // Safe: `setReturnArrays` makes rows arrays, which the type of the iterator does not say.
    const found = statement.iterate(...params.map(toParam)) as Iterable<unknown> as Iterable<SQLOutputValue[]>;
    for (const row of found) if (!rows.add(row.map(toJSON))) break;
    return rows.toJSON(columns);
  } catch (error) {
    throw explain(error);
  }
}

/** Whether there is a further statement: SQLite ignores the text after the first one. */
function hasMore(rest: string): boolean {
  return (
    rest
      .replaceAll(/--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, '')
      .replaceAll(';', '')
      .trim() !== ''
  );
}

const { SQLITE_OK: OK, SQLITE_DENY: DENY } = constants;

function isAllowed(action: number, first: string | null, second: string | null): boolean {
  if (action === constants.SQLITE_FUNCTION) return second !== 'load_extension';
  if (action === constants.SQLITE_PRAGMA) return readingPragmas.has(first?.toLowerCase() ?? '');
  return allowed.has(action);
}

/** SQLite distinguishes integers from reals, and has neither booleans nor lists. */
function toParam(value: Json): SQLInputValue {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

function toJSON(value: SQLOutputValue): Json {
  if (typeof value === 'bigint') return exactNumber(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}

function explain(error: unknown): unknown {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return error;
  const { errcode, message } = error;
  // SQLITE_AUTH: the authorizer has refused an action.
  const text = errcode === 23 ? `${message}: the file is read-only` : message;
  return new ReadFailure(text, { errno: errcode });
}
