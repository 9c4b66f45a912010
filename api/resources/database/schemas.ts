import { z } from 'zod';
import { isJsonObject, Json } from '#shared/core/json.ts';
import { LossyNumber, parseExact } from '#shared/core/lossless-json.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { DatabaseFilterObject } from '#shared/datasources/tenant-database/filter.ts';
import {
  DatabaseColumn,
  DatabaseConstraint,
  DatabaseName,
  type DatabaseOrder,
  DatabaseRow,
} from '#shared/datasources/tenant-database/table.ts';
import type { FieldAliases } from '../../http/fields/field-aliases.ts';
import { Flag } from '../../http/fields/flag.ts';
import {
  exampleRawSql,
  exampleRowsAdd,
  exampleRowsDelete,
  exampleRowsExport,
  exampleRowsUpdate,
  exampleSchemaCreate,
  exampleTableCreate,
  exampleTableUpdate,
} from './examples.ts';

export const TenantID = z.object({ tenantID: idOf('tenant') });
export const SchemaName = z.object({ databaseSchemaName: DatabaseName });
export const TableName = SchemaName.extend({ databaseTableName: DatabaseName });
export const TriggerName = TableName.extend({ databaseTriggerName: DatabaseName });

export const Preview = z.object({
  preview: Flag.meta({ description: 'Answers the SQL that would run, and runs nothing' }),
});
export const Drop = Preview.extend({ cascade: Flag.meta({ description: 'Drops the objects that depend on it too' }) });

/** Merges two names of one field: the first that is present is used. */
function either<A extends object>(body: A, names: [keyof A, keyof A], check: z.RefinementCtx) {
  const value = body[names[0]] ?? body[names[1]];
  if (value === undefined || value === null)
    check.addIssue({ code: 'custom', path: [names[0]], message: 'is required' });
  return value;
}

export const SchemaCreate = z
  .object({ schemaName: DatabaseName.optional(), databaseSchemaName: DatabaseName.optional() })
  .transform((body, check) => either(body, ['schemaName', 'databaseSchemaName'], check) ?? z.NEVER)
  .meta({ id: 'DatabaseSchemaCreate', examples: [exampleSchemaCreate] });
export const schemaAliases: FieldAliases = { schemaName: ['schemaName', 'databaseSchemaName'] };

const SQL = z.string().min(1);

export const RawSQL = z
  .object({
    sql: SQL.optional(),
    query: SQL.optional().describe('Another name for `sql`'),
    params: z.array(Json).max(1_000).default([]),
    readOnly: z.boolean().default(false),
    timeoutSeconds: z.number().min(0.1).max(300).default(30),
    maxRows: z
      .int()
      .min(1)
      .max(10_000)
      .default(1_000)
      .describe('The most rows of each result; `truncated` says that there are more'),
  })
  // The other name is left out of the document: new clients do not need it.
  .meta({ required: ['sql'] })
  .transform(({ query, ...body }, check) => ({
    ...body,
    sql: either({ sql: body.sql, query }, ['sql', 'query'], check) ?? z.NEVER,
  }))
  .meta({ id: 'RawSql', examples: [exampleRawSql] });
export const sqlAliases: FieldAliases = { sql: ['sql', 'query'] };

const Columns = z.array(DatabaseColumn.meta({ id: 'DatabaseColumn' })).max(1_600);
const Constraints = z.array(DatabaseConstraint.meta({ id: 'DatabaseConstraint' })).max(200);
export const Row = DatabaseRow.meta({ id: 'DatabaseRow' });
const Filter = DatabaseFilterObject.meta({ id: 'DatabaseFilter', examples: [{ id: { '=': 1 } }] });

export const TableCreate = z
  .object({
    databaseTableName: DatabaseName,
    columns: Columns.optional(),
    databaseTableColumns: Columns.optional().describe('Another name for `columns`'),
    constraints: Constraints.optional(),
    databaseTableConstraints: Constraints.optional().describe('Another name for `constraints`'),
    ifNotExists: z.boolean().default(false),
  })
  .transform((body) => ({
    table: body.databaseTableName,
    columns: body.columns ?? body.databaseTableColumns ?? [],
    constraints: body.constraints ?? body.databaseTableConstraints ?? [],
    ifNotExists: body.ifNotExists,
  }))
  .meta({ id: 'DatabaseTableCreate', examples: [exampleTableCreate] });

/** The wanted state of each given list: a column or constraint that is not in its list is dropped. */
export const TableUpdate = z
  .object({
    columns: Columns.optional(),
    databaseTableColumns: Columns.optional().describe('Another name for `columns`'),
    constraints: Constraints.optional(),
    databaseTableConstraints: Constraints.optional().describe('Another name for `constraints`'),
  })
  .transform((body) => ({
    columns: body.columns ?? body.databaseTableColumns ?? null,
    constraints: body.constraints ?? body.databaseTableConstraints ?? null,
  }))
  .meta({ id: 'DatabaseTableUpdate', examples: [exampleTableUpdate] });

export const tableAliases: FieldAliases = {
  columns: ['columns', 'databaseTableColumns'],
  constraints: ['constraints', 'databaseTableConstraints'],
};

/** A filter in the query string is JSON. */
const FilterText = z
  .string()
  .transform((text, check) => {
    try {
      return parseExact(text);
    } catch (error) {
      const notJSON = 'must be JSON, such as {"id": {"=": 1}}; SQL text is not accepted';
      check.addIssue({ code: 'custom', message: error instanceof LossyNumber ? error.message : notJSON });
      return z.NEVER;
    }
  })
  .pipe(DatabaseFilterObject)
  .optional()
  .transform((filter) => filter ?? null)
  .meta({ description: 'A filter as JSON: AND, OR, NOT, or {"column": {"operator": value}}' });

const Order = z
  .string()
  .max(2_000)
  .transform((text, check) => {
    const items = text.match(/(?:"(?:[^"]|"")*"|[^",])+/g) ?? [];
    return items.map((item, at): z.infer<typeof DatabaseOrder> => {
      const groups = orderForm.exec(item.trim())?.groups;
      if (!groups)
        check.addIssue({ code: 'custom', path: [at], message: 'must be a column, then asc or desc if wanted' });
      const { quoted, bare = '', direction = '', nulls = '' } = groups ?? {};
      return {
        column: quoted?.slice(1, -1).replaceAll('""', '"') ?? bare,
        descending: direction.toLowerCase() === 'desc',
        nulls: nulls ? (nulls.toLowerCase() as 'first' | 'last') : null,
      };
    });
  })
  .pipe(z.array(z.custom<z.infer<typeof DatabaseOrder>>()).max(32))
  .optional()
  .meta({ description: 'Columns to sort by: `name`, `name desc`, `"a name" asc nulls last`, separated by commas' });

const OrderAlias = Order.meta({ description: 'Another name for `order`' });

const orderForm =
  /^(?:(?<quoted>"(?:[^"]|"")+")|(?<bare>[^\s",();]+))(?:\s+(?<direction>asc|desc))?(?:\s+nulls\s+(?<nulls>first|last))?$/i;

export const RowQuery = z
  .object({
    page: NumberText(z.int().min(1).max(1_000_000_000)).prefault(1),
    pageSize: NumberText(z.int().min(1).max(1_000)).prefault(100),
    q: FilterText,
    order: Order,
    sort: OrderAlias,
    count: Flag.meta({ description: 'Counts what the filter finds, which takes the time of reading it all' }),
  })
  .transform(({ q, order, sort, ...query }) => ({ ...query, filter: q, order: order ?? sort ?? [] }));

const MAX_ROWS = 1_000;

export const RowsAdd = z
  .object({ databaseTableRowData: z.array(Row).min(1).max(MAX_ROWS) })
  .meta({ id: 'DatabaseRowsAdd', examples: [exampleRowsAdd] });

const Where = Filter.nullish();
const WhereAlias = Where.describe('Another name for `where`');
const All = z.boolean().default(false).describe('Must be true if there is no filter');
const Single = z
  .boolean()
  .optional()
  .describe('Whether the filter must find exactly one row: otherwise nothing is changed, and the answer is 409');

const orderAliases = { order: ['order', 'sort'] };
/** The filter in the query string, and in a body. */
export const rowQueryAliases: FieldAliases = { where: ['q'], ...orderAliases };
export const filterAliases: FieldAliases = { where: ['where', 'query'] };
export const exportAliases: FieldAliases = { ...filterAliases, ...orderAliases };
export const rowChangeAliases: FieldAliases = { 'databaseTableRowData.*.where': ['where', 'query'] };

const FilteredChange = z
  .strictObject({ data: Row, where: Where, query: WhereAlias, all: All, single: Single })
  .meta({ id: 'DatabaseRowChange' })
  .transform(({ data, where, query, all, single }) => ({
    data,
    where: where ?? query ?? null,
    all,
    ...(single && { single }),
  }));
const changeFields: ReadonlySet<string> = new Set(['data', 'where', 'query', 'all', 'single']);

const KeyedRow = Row.transform((row, check) => {
  if (isJsonObject(row.data) && Object.keys(row).every((name) => changeFields.has(name))) {
    // An issue of the type, so that the error is about the other choice.
    check.addIssue({ code: 'invalid_type', expected: 'record', input: row });
    return z.NEVER;
  }
  return { data: row, where: null, all: false, isKeyed: true };
});

const RowChange = z
  .union([FilteredChange, KeyedRow])
  .describe('A row with its primary key and the columns to change; or `data` for all rows that `where` finds');

export const RowsUpdate = z
  .object({ databaseTableRowData: z.array(RowChange).min(1).max(MAX_ROWS) })
  .meta({ id: 'DatabaseRowsUpdate', examples: [exampleRowsUpdate] });

/** Without a filter the change concerns every row, which needs `all: true`. */
export const RowsDelete = z
  .object({ where: Where, query: WhereAlias, all: All, single: Single })
  .transform(({ where, query, all, single }) => ({ filter: where ?? query ?? null, all, ...(single && { single }) }))
  .meta({ id: 'DatabaseRowsDelete', examples: [exampleRowsDelete] });

export const ExportQuery = z.object({
  formulas: z.enum(['neutralise', 'keep']).default('neutralise').meta({
    description:
      'What a spreadsheet would run as a formula in a CSV text gets an apostrophe in front, or stays as it is',
  }),
  bom: Flag.meta({ description: 'Begins CSV with a byte order mark, without which Excel reads no umlauts' }),
});

export const RowsExport = z
  .object({
    where: Where,
    query: WhereAlias,
    order: Order,
    sort: OrderAlias,
    exportFormat: z.enum(['json', 'csv', 'xlsx'], { error: 'must be json, csv or xlsx' }).default('csv'),
  })
  .transform(({ where, query, order, sort, exportFormat }) => ({
    filter: where ?? query ?? null,
    order: order ?? sort ?? [],
    format: exportFormat,
  }))
  .meta({ id: 'DatabaseRowsExport', examples: [exampleRowsExport] });

export const StatisticsQuery = z.object({ q: FilterText }).transform(({ q }) => ({ filter: q }));
