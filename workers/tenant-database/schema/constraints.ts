import { invalidField } from '#shared/core/schema/issues.ts';
import type { DatabaseColumn, DatabaseConstraint } from '#shared/datasources/tenant-database/table.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';
import { findTables, type TableName } from '../catalog.ts';
import { quoteName } from '../quote.ts';
import { requireExpressions, withoutParentheses } from '../sql-text.ts';

/** A constraint, as in the catalogue or as wanted by a client. */
export interface Constraint {
  /** Undefined: the server chooses it. */
  name: string | undefined;
  type: DatabaseConstraint['constraintType'];
  columns: string[];
  referencedSchema: string | null;
  referencedTable: string | null;
  /** Empty: the primary key of the other table. */
  referencedColumns: string[];
  onUpdate: string;
  onDelete: string;
  check: string | null;
}

const emptyConstraint = {
  name: undefined,
  columns: [],
  referencedSchema: null,
  referencedTable: null,
  referencedColumns: [],
  onUpdate: 'NO ACTION',
  onDelete: 'NO ACTION',
  check: null,
};

/** Requires that the checks which a client has sent are expressions; `readConstraint` and `constraintsOfFlags` rely on it. */
export async function requireChecks(
  constraints: readonly DatabaseConstraint[],
  columns: readonly DatabaseColumn[],
): Promise<void> {
  await requireExpressions(
    [
      ...constraints.map(({ check }, at) => ({ text: check, field: `constraints.${at}.check` })),
      ...columns.map(({ check }, at) => ({ text: check, field: `columns.${at}.check` })),
    ].flatMap(({ text, field }) => (text ? [{ text, field }] : [])),
  );
}

/** Reads a constraint that a client has sent, and checks what can be checked without the database. */
export function readConstraint(requested: DatabaseConstraint, { schema }: TableName, field: string): Constraint {
  const refuse = (name: string, message: string) => invalidField(`${field}.${name}`, message);
  const { constraintType: type, databaseTableColumns: columns, referencedColumns, referencedTable } = requested;
  const constraint = { ...emptyConstraint, name: requested.constraintName, type };
  if (type === 'CHECK') {
    if (!requested.check) throw refuse('check', 'is required');
    return { ...constraint, columns, check: requested.check.trim() };
  }
  if (columns.length === 0) throw refuse('databaseTableColumns', 'is required');
  if (type !== 'FOREIGN KEY') return { ...constraint, columns };
  if (!referencedTable) throw refuse('referencedTable', 'is required');
  if (referencedColumns && referencedColumns.length > 0 && referencedColumns.length !== columns.length)
    throw refuse('referencedColumns', 'must have as many columns as databaseTableColumns');
  return {
    ...constraint,
    columns,
    referencedSchema: requested.referencedSchema ?? schema,
    referencedTable,
    referencedColumns: referencedColumns ?? [],
    onUpdate: requested.onUpdate ?? 'NO ACTION',
    onDelete: requested.onDelete ?? 'NO ACTION',
  };
}

/** Requires that referenced tables exist, except for the table itself, which may be about to be created. */
export async function requireReferenced(
  connection: PostgresConnection,
  table: TableName,
  constraints: readonly Constraint[],
): Promise<void> {
  for (const [at, { referencedSchema, referencedTable }] of constraints.entries()) {
    if (referencedSchema === null || referencedTable === null) continue;
    if (referencedSchema === table.schema && referencedTable === table.table) continue;
    const [found] = await findTables(connection, { schema: referencedSchema, table: referencedTable });
    if (!found)
      throw invalidField(
        `constraints.${at}.referencedTable`,
        `there is no table "${referencedTable}" in "${referencedSchema}"`,
      );
  }
}

/** Returns the constraints that the flags of columns stand for. */
export function constraintsOfFlags(columns: readonly DatabaseColumn[]): Constraint[] {
  const nameOf = ({ databaseTableColumnName }: DatabaseColumn) => databaseTableColumnName;
  const key = columns.filter(({ primaryKey }) => primaryKey).map(nameOf);
  const unique = columns.filter((column) => column.unique && !(column.primaryKey && key.length === 1));
  const checks = columns.flatMap((column) =>
    column.check ? [{ columns: [nameOf(column)], check: column.check.trim() }] : [],
  );
  return [
    ...(key.length > 0 ? [{ ...emptyConstraint, type: 'PRIMARY KEY' as const, columns: key }] : []),
    ...unique.map((column) => ({ ...emptyConstraint, type: 'UNIQUE' as const, columns: [nameOf(column)] })),
    ...checks.map((check) => ({ ...emptyConstraint, type: 'CHECK' as const, ...check })),
  ];
}

export function constraintSQL(constraint: Constraint): string {
  const { name, type, columns, referencedSchema, referencedTable, referencedColumns } = constraint;
  const named = name === undefined ? '' : `constraint ${quoteName(name)} `;
  if (type === 'CHECK') return `${named}check (${constraint.check})`;
  const definition = `${named}${type.toLowerCase()} (${listOf(columns)})`;
  if (type !== 'FOREIGN KEY') return definition;
  const other = quoteName(referencedSchema ?? '', referencedTable ?? '');
  const referencedList = referencedColumns.length > 0 ? ` (${listOf(referencedColumns)})` : '';
  const actions = ` on update ${constraint.onUpdate.toLowerCase()} on delete ${constraint.onDelete.toLowerCase()}`;
  return `${definition} references ${other}${referencedList}${actions}`;
}

function listOf(names: readonly string[]): string {
  return names.map((name) => quoteName(name)).join(', ');
}

/** Whether an existing constraint is the wanted one. */
export function isSameConstraint(wanted: Constraint, current: Constraint): boolean {
  if (wanted.type !== current.type) return false;
  if (wanted.name !== undefined && wanted.name !== current.name) return false;
  if (wanted.type === 'CHECK') return bare(wanted) === bare(current);
  const fields = ['columns', 'referencedSchema', 'referencedTable', 'onUpdate', 'onDelete'] as const;
  if (!fields.every((field) => String(wanted[field]) === String(current[field]))) return false;
  return (
    wanted.referencedColumns.length === 0 || String(wanted.referencedColumns) === String(current.referencedColumns)
  );
}

/** The check without the outer parentheses that the catalogue puts around it. Cached, because each check is compared with all others. */
function bare(constraint: Constraint): string {
  const known = bareChecks.get(constraint);
  if (known !== undefined) return known;
  const text = withoutParentheses(constraint.check ?? '');
  bareChecks.set(constraint, text);
  return text;
}

const bareChecks = new WeakMap<Constraint, string>();
