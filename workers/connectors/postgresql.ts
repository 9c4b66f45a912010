import pg from 'pg';
import type { postgresql } from '#shared/datasources/postgresql.ts';
import { AppError } from '#shared/errors.ts';
import type { Json } from '#shared/json.ts';
import { renderStatement, type Statement } from '#shared/queries/statement.ts';
import type { Connector, QueryResult } from '../define.ts';
import { placeOf, reasonOf, upstreamError } from '../upstream-error.ts';
import { browse } from './postgresql/browse.ts';
import { ask, describe, type RawResult } from './postgresql/query.ts';
import { openSession, type PostgresSession } from './postgresql/session.ts';
import { type Target, targetOf } from './postgresql/target.ts';
import { createTypes, type Types } from './postgresql/values.ts';
import { columnKeys, rowOf } from './rows.ts';
import { createSessions } from './sessions.ts';

export const connectPostgresql: Connector<typeof postgresql> = (options, { outbound }) => {
  const target = targetOf(options);
  const types = createTypes();
  const sessions = createSessions((signal) => openSession(target, outbound, signal));

  async function use<T>(signal: AbortSignal, work: (session: PostgresSession) => Promise<T>): Promise<T> {
    try {
      return await sessions.use(signal, work);
    } catch (error) {
      throw usableError(error, target, signal);
    }
  }

  async function answer(session: PostgresSession, { sql, params }: Rendered, maxRows: number): Promise<QueryResult> {
    const { client } = session;
    const values = await written(client, types, { sql, params });
    const result = await ask(client, { sql, values, maxRows }).catch((error: unknown) => {
      throw error instanceof pg.DatabaseError && isOfQuery(error) ? databaseError(error, sql) : error;
    });
    await types.learn(client, result.fields?.map(({ dataTypeID }) => dataTypeID) ?? []);
    return presented(result, types, session.takeNotices());
  }

  return {
    test: (signal) => use(signal, async ({ client }) => void (await client.query('select 1'))),
    async run({ statement }, { maxRows, signal }) {
      const rendered = render(statement);
      return await use(signal, (session) => answer(session, rendered, maxRows));
    },
    browse: (path, signal) => use(signal, ({ client }) => browse(client, path)),
    async explain({ statement }, { signal }) {
      const { sql, params } = render(statement);
      // Never ANALYZE, which would run it; after the options it is a mistake in the syntax.
      const explained = { sql: `EXPLAIN (FORMAT JSON) ${sql}`, params };
      const { data } = await use(signal, (session) => answer(session, explained, 1));
      return (data as { 'QUERY PLAN': Json }[])[0]?.['QUERY PLAN'] ?? null;
    },
    [Symbol.asyncDispose]: () => sessions[Symbol.asyncDispose](),
  };
};

interface Rendered {
  sql: string;
  params: Json[];
}

/** The protocol counts values in two bytes. */
const MAX_PARAMS = 65_535;

function render(statement: Statement | null): Rendered {
  if (!statement) throw new AppError('VALIDATION_ERROR', 'query: must be a text');
  const rendered = renderStatement(statement, (index) => `$${index}`);
  if (rendered.sql.includes('\0')) throw new AppError('VALIDATION_ERROR', 'query: must not have a NUL character');
  if (rendered.params.length > MAX_PARAMS)
    throw new AppError('VALIDATION_ERROR', `query: has ${rendered.params.length} values, and can have ${MAX_PARAMS}`);
  return rendered;
}

/** Only lists and objects are written in a way that depends on what the server expects. */
async function written(client: pg.Client, types: Types, { sql, params }: Rendered): Promise<(string | null)[]> {
  if (!params.some((value) => typeof value === 'object' && value !== null))
    return params.map((value) => types.write(value, undefined));
  const expected = await describe(client, sql);
  await types.learn(client, expected);
  return params.map((value, index) => types.write(value, expected[index]));
}

function presented({ fields, rows, affectedRows, isCut }: RawResult, types: Types, notices: string[]): QueryResult {
  const written = { ...(affectedRows !== undefined && { affectedRows }), ...(notices.length > 0 && { notices }) };
  if (!fields) return { data: [], ...written };
  const keys = columnKeys(fields.map(({ name }) => name));
  const readers = fields.map(({ dataTypeID }) => types.reader(dataTypeID));
  const data = rows.map((row) =>
    rowOf(
      keys,
      row.map((text, index) => (text === null ? null : read(readers[index], text))),
    ),
  );
  const columns = fields.map(({ dataTypeID }, index) => ({ name: keys[index] ?? '', type: types.nameOf(dataTypeID) }));
  return { data, columns, rowCount: data.length, ...written, ...(isCut && { truncated: true }) };
}

function read(reader: ((text: string) => Json) | undefined, text: string): Json {
  return reader ? reader(text) : text;
}

/** What ends the session is not the query's fault: the server goes down, or somebody there has enough of us. */
function isOfQuery({ severity, code = '' }: pg.DatabaseError): boolean {
  return severity !== 'FATAL' && severity !== 'PANIC' && !code.startsWith('57P');
}

function usableError(error: unknown, target: Target, signal: AbortSignal): unknown {
  if (error instanceof AppError) return error;
  const where = placeOf(target.host, target.port);
  if (signal.aborted) return isTimeout(signal.reason) ? upstreamError('timeout', where, error) : error;
  if (error instanceof pg.DatabaseError && isOfQuery(error)) return databaseError(error, '');
  return upstreamError(reasonOf(error) ?? 'lost', where, error);
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}

function databaseError(error: pg.DatabaseError, sql: string): AppError {
  const { code, detail, hint, position, schema, table, column, constraint } = error;
  const line = position === undefined ? undefined : sql.slice(0, Number(position)).split('\n').length;
  const known = { postgres_code: code, line, position, detail, hint, schema, table, column, constraint };
  const details = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
  return new AppError('DB_ERROR', error.message, { cause: error, details });
}
