import type { JsonObject } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { DatabaseColumn } from '#shared/datasources/tenant-database/table.ts';
import type { DatabaseOperationOf } from '#shared/messaging/queues/tenant-database.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';
import { type Column, quoteTable } from '../catalog.ts';
import { quoteName } from '../quote.ts';
import { applyDDL } from './apply-ddl.ts';
import { findColumnType } from './column-type.ts';
import {
  type Constraint,
  constraintSQL,
  constraintsOfFlags,
  isSameConstraint,
  readConstraint,
  requireChecks,
  requireReferenced,
} from './constraints.ts';
import { definitionOf, requireDistinct } from './create-table.ts';
import { defaultOf, isSameDefault } from './default-value.ts';
import { describeTable, type TableDescription } from './tables.ts';

type UpdateTable = DatabaseOperationOf<'updateTable'>;

/**
 * Changes a table to the wanted definition in one transaction. A column that is not among `columns` is dropped; without
 * `columns` none is changed. The same holds for `constraints`.
 */
export async function updateTable(connection: PostgresConnection, operation: UpdateTable): Promise<JsonObject> {
  const current = await describeTable(connection, operation);
  if (current.kind !== 'r' && current.kind !== 'p')
    throw invalidField('databaseTableName', 'must be a table; a view or a foreign table cannot be changed here');
  const { columns } = operation;
  if (columns) requireDistinct(columns);
  await requireChecks(operation.constraints ?? [], columns ?? []);
  const listed = listedConstraints(operation);
  if (listed) await requireReferenced(connection, operation, listed);
  const wanted = wantedConstraints(current, operation, listed);
  const [dropped, added] = difference(current.constraints, wanted);
  const actions = [
    ...dropped.map(({ name = '' }) => `drop constraint ${quoteName(name)}`),
    ...(columns ? await columnActions(connection, current, operation) : []),
    // Keys come first: other constraints may refer to them.
    ...added.filter(isKey).map((constraint) => `add ${constraintSQL(constraint)}`),
    ...added.filter((constraint) => !isKey(constraint)).map((constraint) => `add ${constraintSQL(constraint)}`),
  ];
  const sql = actions.map((action) => `alter table ${quoteTable(current)} ${action}`);
  return await applyDDL(connection, sql, { ...operation, done: 'Table updated' });
}

function listedConstraints({ constraints, ...name }: UpdateTable): Constraint[] | null {
  return constraints?.map((given, at) => readConstraint(given, name, `constraints.${at}`)) ?? null;
}

function isKey({ type }: Constraint): boolean {
  return type === 'PRIMARY KEY' || type === 'UNIQUE';
}

async function columnActions(
  connection: PostgresConnection,
  current: TableDescription,
  { columns }: UpdateTable,
): Promise<string[]> {
  const wanted = columns ?? [];
  const names = new Set(wanted.map(({ databaseTableColumnName }) => databaseTableColumnName));
  const removed = current.columns.filter(({ name }) => !names.has(name));
  const actions = removed.map(({ name }) => `drop column ${quoteName(name)}`);
  for (const [at, column] of wanted.entries()) {
    const field = `columns.${at}`;
    const existing = current.columns.find(({ name }) => name === column.databaseTableColumnName);
    if (existing) actions.push(...(await changesOf(connection, { existing, column, field, current })));
    else actions.push(`add column ${await definitionOf(connection, column, field)}`);
  }
  return actions;
}

interface Change {
  existing: Column;
  column: DatabaseColumn;
  /** Path of the column in the request. */
  field: string;
  current: TableDescription;
}

async function changesOf(
  connection: PostgresConnection,
  { existing, column, field, current }: Change,
): Promise<string[]> {
  const { databaseTableColumnType: type, isList = false, defaultValue, notNull } = column;
  const wanted = await findColumnType(connection, { type, isList, field: `${field}.databaseTableColumnType` });
  const name = quoteName(existing.name);
  const hasOtherType = wanted.name !== existing.type;
  const newDefault =
    defaultValue === undefined || isSameDefault(defaultValue, existing.defaultValue) ? undefined : defaultValue;
  const actions: string[] = [];
  // The old default may not be valid in the new type.
  if (newDefault !== undefined && existing.defaultValue !== null) actions.push(`alter column ${name} drop default`);
  if (hasOtherType) actions.push(`alter column ${name} type ${wanted.name} using ${name}::${wanted.base}`);
  if (newDefault !== undefined && newDefault !== null)
    actions.push(`alter column ${name} set default ${defaultOf(newDefault, `${field}.defaultValue`)}`);
  const isInKey = current.primaryKey.includes(existing.name) || column.primaryKey;
  if (notNull !== undefined && notNull !== existing.notNull && !(isInKey && !notNull))
    actions.push(`alter column ${name} ${notNull ? 'set' : 'drop'} not null`);
  return actions;
}

/** The list takes precedence over the flags of columns; without a list, the given flags decide what changes. */
function wantedConstraints(
  current: TableDescription,
  { columns }: UpdateTable,
  given: Constraint[] | null,
): Constraint[] {
  const flags = columns ? constraintsOfFlags(columns) : [];
  const remaining = columns
    ? current.constraints.filter((constraint) => hasAllColumns(constraint, columns))
    : current.constraints;
  const listed = given ?? remaining.filter((constraint) => !isRevoked(constraint, columns ?? []));
  const missing = flags.filter((flag) => !listed.some((constraint) => covers(constraint, flag)));
  return [...listed, ...missing];
}

/** Whether all columns of the constraint stay. */
function hasAllColumns(constraint: Constraint, columns: readonly DatabaseColumn[]): boolean {
  const names = new Set(columns.map(({ databaseTableColumnName }) => databaseTableColumnName));
  return constraint.columns.every((name) => names.has(name));
}

/** Whether flags of its columns remove the constraint. */
function isRevoked(constraint: Constraint, columns: readonly DatabaseColumn[]): boolean {
  const own = columns.filter(({ databaseTableColumnName }) => constraint.columns.includes(databaseTableColumnName));
  if (constraint.type === 'PRIMARY KEY') {
    const key = columns.filter(({ primaryKey }) => primaryKey).map((column) => column.databaseTableColumnName);
    const isKeyGiven = columns.some(({ primaryKey }) => primaryKey !== undefined);
    return isKeyGiven && [...key].sort().join('\0') !== [...constraint.columns].sort().join('\0');
  }
  if (constraint.columns.length !== 1) return false;
  const [column] = own;
  if (constraint.type === 'UNIQUE') return column?.unique === false;
  if (constraint.type !== 'CHECK' || column?.check === undefined) return false;
  return column.check === null || !isSameConstraint({ ...constraint, check: column.check }, constraint);
}

/** Whether the constraint satisfies the flag. The order of the columns in a primary key does not matter. */
function covers(constraint: Constraint, flag: Constraint): boolean {
  if (flag.type === 'PRIMARY KEY') return constraint.type === 'PRIMARY KEY';
  const isUnique = flag.type === 'UNIQUE' && isKey(constraint) && String(constraint.columns) === String(flag.columns);
  return isUnique || isSameConstraint(flag, constraint);
}

/** Returns the constraints to drop and the constraints to add. */
function difference(current: readonly Constraint[], wanted: readonly Constraint[]): [Constraint[], Constraint[]] {
  const dropped = [...current];
  const added = wanted.filter((constraint) => {
    const at = dropped.findIndex((existing) => isSameConstraint(constraint, existing));
    if (at >= 0) dropped.splice(at, 1);
    return at < 0;
  });
  return [dropped, added];
}
