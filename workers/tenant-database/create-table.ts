import type { DatabaseColumn } from '#shared/database-table.ts';
import { AppError } from '#shared/errors.ts';
import type { JsonObject } from '#shared/json.ts';
import type { DatabaseOperationOf } from '#shared/queues/tenant-database.ts';
import type { PostgresClient } from '../postgresql/session.ts';
import { applyDDL } from './apply-ddl.ts';
import { quoteTable, requireSchema } from './catalog.ts';
import { findColumnType } from './column-type.ts';
import { constraintSQL, constraintsOfFlags, readConstraint } from './constraints.ts';
import { defaultOf } from './default-value.ts';
import { quoteName } from './quote.ts';

export async function createTable(
  client: PostgresClient,
  operation: DatabaseOperationOf<'createTable'>,
): Promise<JsonObject> {
  const { schema, columns, ifNotExists, preview } = operation;
  await requireSchema(client, schema);
  requireDistinct(columns);
  const listed = operation.constraints.map((constraint, at) => readConstraint(constraint, operation, at));
  const flags = constraintsOfFlags(columns);
  const keyIsListed = listed.some(({ type }) => type === 'PRIMARY KEY');
  const constraints = [...flags.filter(({ type }) => !(keyIsListed && type === 'PRIMARY KEY')), ...listed];
  const parts = [];
  for (const [at, column] of columns.entries()) parts.push(await definitionOf(client, column, at));
  parts.push(...constraints.map(constraintSQL));
  const body = parts.map((part) => `\n  ${part}`).join(',');
  const sql = [`create table ${ifNotExists ? 'if not exists ' : ''}${quoteTable(operation)} (${body}\n)`];
  return await applyDDL(client, sql, { preview, done: 'Table created' });
}

export function requireDistinct(columns: readonly DatabaseColumn[]): void {
  const seen = new Set<string>();
  for (const [at, { databaseTableColumnName: name }] of columns.entries()) {
    if (seen.has(name))
      throw new AppError('VALIDATION_ERROR', `columns.${at}.databaseTableColumnName: there are two columns "${name}"`);
    seen.add(name);
  }
}

/** The column itself; what its flags say of uniqueness is a constraint of the table. */
export async function definitionOf(client: PostgresClient, column: DatabaseColumn, at: number): Promise<string> {
  const {
    databaseTableColumnName: name,
    databaseTableColumnType: type,
    isList = false,
    defaultValue,
    notNull,
  } = column;
  const found = await findColumnType(client, { type, isList, field: `columns.${at}.databaseTableColumnType` });
  const standard =
    defaultValue === undefined || defaultValue === null
      ? ''
      : ` default ${defaultOf(defaultValue, `columns.${at}.defaultValue`)}`;
  return `${quoteName(name)} ${found.sql}${standard}${notNull ? ' not null' : ''}`;
}
