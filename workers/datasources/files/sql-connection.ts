import { AppError } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { renderStatement, type Statement } from '#shared/datasources/queries/statement.ts';
import type { Connection, ExecuteOptions } from '../../connections/connection.ts';
import type { Files } from './files.ts';
import type { SqlRequest } from './protocol.ts';

interface FileDatabase {
  kind: SqlRequest['kind'];
  files: readonly { name: string; filePath: string }[];
  placeholder(index: number): string;
  /** Reads enough to detect a file of another type. */
  testSql: string;
  /** Prefix that makes a statement return its plan. */
  explain: string;
  /** `name` and `kind` of the tables. */
  tablesSql: string;
  /** `name`, `type` and `isNullable` (1 or 0, true or false) of the columns of the one table that is its parameter. */
  columnsSql: string;
}

interface SqlQuery {
  statement: Statement | null;
}

type FileConnection = Pick<Connection<never>, 'test' | typeof Symbol.asyncDispose> & {
  execute(query: SqlQuery, run: ExecuteOptions): ReturnType<Connection<never>['execute']>;
  explain(query: SqlQuery, run: ExecuteOptions): ReturnType<NonNullable<Connection<never>['explain']>>;
  browse: NonNullable<Connection<never>['browse']>;
};

/** Opens SQL over files. No file stays open between queries: each checks that the files still exist and are the tenant's. */
export function openFileDatabase(
  { kind, files: named, placeholder, testSql, explain, tablesSql, columnsSql }: FileDatabase,
  { tenantID, files }: { tenantID: string; files: Files },
): FileConnection {
  function readFiles(request: Pick<SqlRequest, 'sql' | 'params' | 'maxRows'>, signal: AbortSignal) {
    return files.read({
      tenantID,
      filePaths: named.map(({ filePath }) => filePath),
      request: (found) => ({
        kind,
        files: found.map((file, index) => ({ ...file, name: named[index]?.name ?? '' })),
        ...request,
      }),
      signal,
    });
  }

  function render({ statement }: SqlQuery): Pick<SqlRequest, 'sql' | 'params'> {
    if (!statement) throw invalidField('query', 'must be a text');
    return renderStatement(statement, placeholder);
  }

  return {
    async test(signal) {
      await readFiles({ sql: testSql, params: [], maxRows: 1 }, signal);
    },
    execute: (query, { maxRows, signal }) => readFiles({ ...render(query), maxRows }, signal),
    async explain(query, { maxRows, signal }) {
      const { sql, params } = render(query);
      return (await readFiles({ sql: `${explain} ${sql}`, params, maxRows }, signal)).data;
    },
    async browse(path, signal) {
      const [table] = path;
      if (path.length > 1) throw new AppError('NOT_FOUND', 'There is nothing below a column');
      const read = async (sql: string, params: Json[]) =>
        (await readFiles({ sql, params, maxRows: MAX_ITEMS }, signal)).data as JsonObject[];
      const tables = await read(tablesSql, []);
      if (table === undefined)
        return tables.map(({ name, kind }) => ({ name: String(name), kind: String(kind), isContainer: true }));
      if (!tables.some(({ name }) => name === table)) throw new AppError('NOT_FOUND', `There is no table ${table}`);
      return (await read(columnsSql, [table])).map(({ name, type, isNullable }) => ({
        name: String(name),
        kind: 'column',
        isContainer: false,
        type: String(type),
        details: { isNullable: Boolean(isNullable) },
      }));
    },
    async [Symbol.asyncDispose]() {},
  };
}

const MAX_ITEMS = 10_000;
