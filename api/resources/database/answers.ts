import { z } from 'zod';
import { Message, ResultColumn } from '../../http/fields/response-parts.ts';
import {
  exampleChange,
  exampleMetadata,
  exampleRows,
  exampleSchema,
  exampleSchemaChange,
  exampleSqlResults,
  exampleStatistics,
  exampleTable,
  exampleTrigger,
} from './examples.ts';
import { Row } from './schemas.ts';

const changeFields = {
  message: Message,
  sql: z.array(z.string()).describe('What was run, or with `preview` what would be'),
  preview: z.boolean(),
};

/** The answer to a change of the database's structure. */
export const Changed = z.object(changeFields).meta({ id: 'DatabaseChange', examples: [exampleChange] });

const NewSchema = z.object({ databaseSchemaName: z.string() }).meta({ id: 'NewDatabaseSchema' });
export const SchemaCreated = z
  .object({ ...changeFields, databaseSchema: NewSchema })
  .meta({ id: 'DatabaseSchemaChange', examples: [exampleSchemaChange] });

const Notice = z.object({ severity: z.string(), message: z.string() }).meta({ id: 'SqlNotice' });

const SQLResult = z
  .object({
    command: z.string().nullable(),
    rowCount: z.int().nullable(),
    truncated: z.boolean(),
    notices: z.array(Notice),
    columns: z.array(ResultColumn),
    rows: z.array(Row).describe('Empty for the last statement, whose rows are in `result`'),
  })
  .meta({ id: 'SqlResult', description: 'The result of one statement' });

export const SQLResults = z
  .object({
    message: z.string().default('Executed'),
    result: z.array(Row).describe('The rows of the last statement'),
    rowCount: z.int().nullable().describe('The number of rows of the last statement'),
    results: z.array(SQLResult),
  })
  .meta({ id: 'SqlResults', examples: [exampleSqlResults] });

const typedName = { databaseTableColumnName: z.string(), databaseTableColumnType: z.string() };
const NamedColumn = z.object(typedName).meta({ id: 'DatabaseColumnMetadata' });
const Key = z.object({ constraintName: z.string(), constraintType: z.string() }).meta({ id: 'DatabaseKey' });
const Index = z.object({ indexName: z.string(), indexDefinition: z.string() }).meta({ id: 'DatabaseIndex' });
const Enum = z.object({ enum_name: z.string(), values: z.array(z.string()) }).meta({ id: 'DatabaseEnum' });

const TableMetadata = z
  .object({
    databaseTableName: z.string(),
    databaseTableColumns: z.array(NamedColumn),
    keys: z.array(Key),
    indexes: z.array(Index),
    estimatedRowCount: z.number(),
    sizeBytes: z.number(),
  })
  .meta({ id: 'DatabaseTableMetadata' });

const SchemaMetadata = z
  .object({
    databaseSchemaName: z.string(),
    tables: z.array(TableMetadata),
    views: z.array(z.string()),
    enums: z.array(Enum),
  })
  .meta({ id: 'DatabaseSchemaMetadata' });

export const Metadata = z.object({
  databaseMetadata: z
    .object({ metadata: z.array(SchemaMetadata) })
    .meta({ id: 'DatabaseMetadata', examples: [exampleMetadata] }),
});

const DatabaseSchema = z
  .object({ databaseSchemaName: z.string(), tableCount: z.int(), sizeBytes: z.number() })
  .meta({ id: 'DatabaseSchema', examples: [exampleSchema] });

export const Schemas = z.object({ databaseSchemas: z.array(DatabaseSchema) });

const TableColumn = z
  .object({
    ...typedName,
    isList: z.boolean(),
    isNullable: z.boolean(),
    notNull: z.boolean(),
    defaultValue: z.string().nullable(),
    isGenerated: z.boolean().describe('The server always writes it: rows are added and changed without it'),
    isIdentity: z.boolean().describe('The server counts its values where none is given'),
    enumValues: z.array(z.string()).nullable().describe('The values of an enum, in their order'),
    unique: z.boolean(),
    primaryKey: z.boolean(),
    check: z.string().nullable(),
  })
  .meta({ id: 'DatabaseTableColumn' });

const TableConstraint = z
  .object({
    constraintSchema: z.string(),
    constraintName: z.string(),
    constraintType: z.string(),
    databaseTableColumns: z.array(z.string()),
    referencedSchema: z.string().nullable(),
    referencedTable: z.string().nullable(),
    referencedColumns: z.array(z.string()),
    onUpdate: z.string().nullable(),
    onDelete: z.string().nullable(),
    check: z.string().nullable(),
  })
  .meta({ id: 'DatabaseTableConstraint' });

const Table = z
  .object({
    databaseSchemaName: z.string(),
    databaseTableName: z.string(),
    databaseTableType: z.string(),
    primaryKey: z.array(z.string()),
    databaseTableColumns: z.array(TableColumn),
    databaseTableConstraints: z.array(TableConstraint),
  })
  .meta({ id: 'DatabaseTable', examples: [exampleTable] });

export const Tables = z.object({ databaseTables: z.array(Table) });
export const OneTable = z.object({ databaseTable: Table });

export const Rows = z
  .object({
    databaseTableRows: z.array(Row),
    page: z.int(),
    pageSize: z.int(),
    nextPage: z.int().nullable().describe('Null after the last page'),
    totalCount: z.int().optional().describe('With `count`'),
  })
  .meta({ id: 'DatabaseRowPage', examples: [exampleRows] });

export const RowsAdded = z
  .object({ message: Message, updatedRowCount: z.int(), databaseTableRows: z.array(Row) })
  .meta({
    id: 'DatabaseRowsAdded',
    examples: [{ message: 'Done', updatedRowCount: 2, databaseTableRows: exampleRows.databaseTableRows }],
  });
export const RowsUpdated = z.object({ message: Message, updatedRowCount: z.int() });
export const RowsDeleted = z.object({ message: Message, deletedRowCount: z.int() });

const TableStatistics = z
  .object({ databaseTableRowCount: z.int(), estimatedRowCount: z.number(), sizeBytes: z.number() })
  .meta({ id: 'DatabaseTableStatistics', examples: [exampleStatistics] });

export const Statistics = z.object({ databaseTableStatistics: TableStatistics });

const Trigger = z
  .object({
    databaseSchemaName: z.string(),
    databaseTableName: z.string(),
    databaseTriggerName: z.string(),
    triggerTiming: z.string(),
    triggerEvents: z.array(z.string()),
    triggerDefinition: z.string(),
    triggerFunction: z.string().nullable(),
    forEach: z.string(),
    whenCondition: z.string().nullable(),
    referencingOld: z.string().nullable(),
    referencingNew: z.string().nullable(),
    deferrable: z.boolean(),
    initiallyDeferred: z.boolean(),
    isEnabled: z.boolean(),
  })
  .meta({ id: 'DatabaseTrigger', examples: [exampleTrigger] });

export const Triggers = z.object({ databaseTriggers: z.array(Trigger) });
export const OneTrigger = z.object({ databaseTrigger: Trigger });
