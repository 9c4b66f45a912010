import type { FieldDef } from 'pg';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { columnKeys, rowOf } from '../rows.ts';
import type { PostgresConnection } from './connection.ts';
import { describeStatement, type PortalRequest, type RawResult, type RawRow, runPortal } from './portal.ts';
import type { Types } from './values.ts';

export interface Typed {
  columns: { name: string; type: string }[];
  rows: JsonObject[];
}

/**
 * Rows as JSON. Values that a JSON number would not hold exactly stay text (bigint, numeric); times are ISO 8601 with their zone;
 * bytes are base64.
 */
export async function typeRows(connection: PostgresConnection, results: readonly RawResult[]): Promise<Typed[]> {
  await learnTypes(
    connection,
    results.flatMap(({ fields }) => fields ?? []),
  );
  return results.map(({ fields, rows }) => ({
    columns: columnsOf(fields ?? [], connection.types),
    rows: rowsOf(rows, fields ?? [], connection.types),
  }));
}

export async function learnTypes(connection: PostgresConnection, fields: readonly FieldDef[]): Promise<void> {
  await connection.types.learn(connection.query, fields);
}

export function columnsOf(fields: readonly FieldDef[], types: Types): Typed['columns'] {
  const keys = columnKeys(fields.map(({ name }) => name));
  return fields.map((field, index) => ({ name: keys[index] ?? '', type: types.nameOf(field) }));
}

/** Converts by the known types; a value of an unknown type stays text. */
export function rowsOf(rows: readonly RawRow[], fields: readonly FieldDef[], types: Types): JsonObject[] {
  const keys = columnKeys(fields.map(({ name }) => name));
  const readers = fields.map(({ dataTypeID }) => types.reader(dataTypeID));
  return rows.map((row) =>
    rowOf(
      keys,
      row.map((text, index) => (text === null ? null : (readers[index]?.(text) ?? null))),
    ),
  );
}

/**
 * Passes the rows to `onRows` as they arrive. Reads their types before, because the connection cannot run another statement between
 * the batches of an answer.
 */
export async function streamRows(
  connection: PostgresConnection,
  request: Omit<PortalRequest, 'onRows'>,
  onRows: (rows: JsonObject[]) => Promise<void>,
): Promise<RawResult> {
  await learnTypes(connection, (await describeStatement(connection, request.sql)).fields);
  return await runPortal(connection, {
    ...request,
    async onRows(rows, fields) {
      await onRows(rowsOf(rows, fields, connection.types));
      connection.backPressure.settle();
    },
  });
}

/** Writes values as parameters. The types that the server expects are read only for lists and objects, whose form depends on them. */
export async function writeParams(
  connection: PostgresConnection,
  { sql, params }: { sql: string; params: readonly Json[] },
): Promise<(string | null)[]> {
  const { types } = connection;
  if (!params.some((value) => typeof value === 'object' && value !== null))
    return params.map((value) => types.write(value, undefined));
  const { parameters } = await describeStatement(connection, sql);
  await types.learn(
    connection.query,
    parameters.map((dataTypeID) => ({ dataTypeID, dataTypeModifier: -1 })),
  );
  return params.map((value, index) => types.write(value, parameters[index]));
}
