import type { Schemas } from '../client/types.ts';
import { quoted } from './quoted.ts';

type DatabaseTable = Schemas['DatabaseTable'];

/** The statements that can be written from the columns of a table. */
export const actions = {
  read: 'Read rows',
  insert: 'Insert a row',
  update: 'Change a row',
  delete: 'Delete a row',
} as const;

export type Action = keyof typeof actions;

type Columns = DatabaseTable['databaseTableColumns'];

/** SQL with an input for each value that it needs. */
export function writtenSQL(action: Action, table: DatabaseTable): string {
  const { databaseSchemaName: schema, databaseTableName, databaseTableColumns: columns } = table;
  const name = schema === 'public' ? quoted(databaseTableName) : `${quoted(schema)}.${quoted(databaseTableName)}`;
  const key = keyOf(table);
  const where = `where ${key.map(isInput).join(' and ')}`;
  if (action === 'delete') return `delete from ${name}\n${where}`;
  if (action === 'insert') {
    const given = columns.filter((one) => !isFilled(one));
    if (given.length === 0) return `insert into ${name} default values\nreturning *`;
    const values = given.map((one) => inputOf(one.databaseTableColumnName));
    return `insert into ${name} (${given.map(nameOf).join(', ')})\nvalues (${values.join(', ')})\nreturning *`;
  }
  if (action === 'update') {
    const changed = columns.filter((one) => !one.isGenerated && !key.includes(one.databaseTableColumnName));
    // The key is all that can change in a table of keys alone.
    const sets =
      changed.length > 0
        ? changed.map((one) => isInput(one.databaseTableColumnName))
        : key.map((column) => `${quoted(column)} = ${inputOf(`new_${column}`)}`);
    return `update ${name}\nset ${sets.join(',\n    ')}\n${where}\nreturning *`;
  }
  return `select ${columns.map(nameOf).join(', ')}\nfrom ${name}\norder by ${key.map(quoted).join(', ')}\nlimit 100`;
}

/** The columns that name one row: the first one where there is no primary key. */
function keyOf({ primaryKey, databaseTableColumns: [first] }: DatabaseTable): readonly string[] {
  return primaryKey.length > 0 ? primaryKey : [first?.databaseTableColumnName ?? ''];
}

/** The database gives it a value of its own. */
function isFilled({ isGenerated, isIdentity, defaultValue }: Columns[number]): boolean {
  return isGenerated || isIdentity || defaultValue !== null;
}

function nameOf({ databaseTableColumnName }: Columns[number]): string {
  return quoted(databaseTableColumnName);
}

function isInput(column: string): string {
  return `${quoted(column)} = ${inputOf(column)}`;
}

/** The name of an input is one that expressions can write behind a dot. */
function inputOf(column: string): string {
  const name = column.replace(/\W/g, '_');
  return `{{inputs.${/^\d/.test(name) ? `_${name}` : name}}}`;
}
