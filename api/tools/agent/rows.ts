import type { ToolArguments } from '../tool.ts';
import { type AgentTool, isRefused, oneOf, rowsOf, success, text, wrong } from './define.ts';

const table = {
  databaseSchemaName: { type: 'string', description: 'Such as public' },
  databaseTableName: { type: 'string' },
};

const describeTables: AgentTool = {
  name: 'describe_tables',
  title: 'Describe tables',
  group: 'Database',
  uses: ['list_schemas', 'list_tables'],
  does: "List the tables of a schema of the tenant's own database with their columns and keys. Without a schema it lists the schemas, and the tables of `public`.",
  when: 'Use it before you read or change rows, or write a statement.',
  costs: 'waits for the server of the database, up to 30 seconds; it changes nothing.',
  effect: 'asks',
  input: { databaseSchemaName: table.databaseSchemaName },
  async run({ databaseSchemaName }, call) {
    const schemas = databaseSchemaName === undefined ? await call('list_schemas', {}) : undefined;
    const names = schemas ? rowsOf(schemas.body, 'databaseSchemas') : [];
    const known = names.map((schema) => String(schema.databaseSchemaName));
    const schema = databaseSchemaName ?? (known.includes('public') || isRefusedBy(schemas) ? 'public' : known[0]);
    if (schema === undefined) return schemas ?? success({ schemas: [] });
    const answer = await call('list_tables', { databaseSchemaName: schema });
    if (isRefused(answer)) return answer;
    const tables = rowsOf(answer.body, 'databaseTables').map((each) => ({
      table: each.databaseTableName,
      type: each.databaseTableType,
      primaryKey: [each.primaryKey].flat().join(', '),
      columns: rowsOf(each, 'databaseTableColumns').map(columnText).join(', '),
    }));
    return success({ ...(known.length > 0 && { schemas: known }), schema, tables }, [
      'list_rows shows rows; change_rows adds, updates or deletes some',
    ]);
  },
};

function isRefusedBy(answer: { status: number } | undefined): boolean {
  return answer !== undefined && answer.status >= 400;
}

function columnText(column: Record<string, unknown>): string {
  const { databaseTableColumnName, databaseTableColumnType, isList, isNullable } = column;
  return `${databaseTableColumnName} ${databaseTableColumnType}${isList ? '[]' : ''}${isNullable ? '' : ' not null'}`;
}

const changes = ['add', 'update', 'delete'] as const;

const changeRows: AgentTool = {
  name: 'change_rows',
  title: 'Change rows',
  group: 'Database',
  uses: ['add_rows', 'update_rows', 'delete_rows'],
  does: "Add, update or delete rows of a table of the tenant's own database: all that the call names, or none.",
  when: 'Use it after list_rows has shown the rows. Tell the user first what you will change.',
  costs: 'waits for the server of the database, up to 30 seconds; what is deleted is gone.',
  effect: 'changes',
  input: {
    ...table,
    change: { type: 'string', enum: [...changes] },
    rows: {
      type: 'array',
      items: { type: 'object' },
      description:
        'Of `add`: rows, values by column. Of `update`: rows with their primary key and the columns to change',
    },
    where: {
      type: 'object',
      description: 'Of `delete`, and of `update` with `data`: AND, OR, NOT, or {"column": {"=": value}}',
    },
    data: { type: 'object', description: 'Of `update` with `where`: the new values by column' },
    single: { type: 'boolean', description: 'Refuse if `where` does not find exactly one row' },
  },
  required: ['databaseSchemaName', 'databaseTableName', 'change'],
  async run({ change, rows, where, data, single, ...names }, call) {
    const filter = { where, ...(single !== undefined && { single }) };
    switch (oneOf('change', change, changes)) {
      case 'add':
        return call('add_rows', { ...tableIn(names), databaseTableRowData: listOf('rows', rows) });
      case 'update': {
        const given = where === undefined ? listOf('rows', rows) : [{ ...filter, data: objectOf('data', data) }];
        return call('update_rows', { ...tableIn(names), databaseTableRowData: given });
      }
      case 'delete':
        return call('delete_rows', { ...tableIn(names), ...filter, where: objectOf('where', where) });
    }
  },
};

function tableIn({ databaseSchemaName, databaseTableName }: ToolArguments): ToolArguments {
  return {
    databaseSchemaName: text('databaseSchemaName', databaseSchemaName),
    databaseTableName: text('databaseTableName', databaseTableName),
  };
}

function listOf(name: string, value: unknown): unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw wrong(name, 'a list of rows');
  return value;
}

function objectOf(name: string, value: unknown): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(name, 'an object');
  return value;
}

export const rowTools: readonly AgentTool[] = [describeTables, changeRows];
