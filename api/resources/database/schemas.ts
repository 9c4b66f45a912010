import { z } from 'zod';
import { DatabaseFilterObject } from '#shared/database-filter.ts';
import {
  DatabaseColumn,
  DatabaseConstraint,
  DatabaseName,
  type DatabaseOrder,
  DatabaseRow,
} from '#shared/database-table.ts';
import { ID } from '../../http/id.ts';

export const TenantID = z.object({ tenantID: ID });
export const SchemaName = z.object({ databaseSchemaName: DatabaseName });
export const TableName = SchemaName.extend({ databaseTableName: DatabaseName });
export const TriggerName = TableName.extend({ databaseTriggerName: DatabaseName });

const Flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true');

export const Preview = z.object({
  preview: Flag.meta({ description: 'Answers the SQL that would run, and runs nothing' }),
});
export const Drop = Preview.extend({ cascade: Flag });

/** The first that is there, of two names for one thing. */
function either<A extends object>(body: A, names: [keyof A, keyof A], check: z.RefinementCtx) {
  const value = body[names[0]] ?? body[names[1]];
  if (value === undefined || value === null)
    check.addIssue({ code: 'custom', path: [names[0]], message: 'is required' });
  return value;
}

export const SchemaCreate = z
  .object({ schemaName: DatabaseName.optional(), databaseSchemaName: DatabaseName.optional() })
  .transform((body, check) => either(body, ['schemaName', 'databaseSchemaName'], check) ?? z.NEVER);

const SQL = z.string().min(1);

export const RawSQL = z
  .object({
    sql: SQL.optional(),
    /** Another name for `sql`. */
    query: SQL.optional(),
    params: z.array(z.json()).max(1_000).default([]),
    readOnly: z.boolean().default(false),
    timeoutSeconds: z.number().min(0.1).max(300).default(30),
    /** Of each result; what is beyond is not fetched, and `truncated` says so. */
    maxRows: z.int().min(1).max(10_000).default(1_000),
  })
  // Whoever writes a client anew has no need of the other name.
  .meta({ required: ['sql'] })
  .transform(({ query, ...body }, check) => ({
    ...body,
    sql: either({ sql: body.sql, query }, ['sql', 'query'], check) ?? z.NEVER,
  }));

const Columns = z.array(DatabaseColumn).max(1_600);
const Constraints = z.array(DatabaseConstraint).max(200);

export const TableCreate = z
  .object({
    databaseTableName: DatabaseName,
    columns: Columns.optional(),
    databaseTableColumns: Columns.optional(),
    constraints: Constraints.optional(),
    databaseTableConstraints: Constraints.optional(),
    ifNotExists: z.boolean().default(false),
  })
  .transform((body) => ({
    table: body.databaseTableName,
    columns: body.columns ?? body.databaseTableColumns ?? [],
    constraints: body.constraints ?? body.databaseTableConstraints ?? [],
    ...fieldsOf(body),
    ifNotExists: body.ifNotExists,
  }));

/** The whole wanted state of what is mentioned: a column or constraint that is not in its list is dropped. */
export const TableUpdate = z
  .object({
    columns: Columns.optional(),
    databaseTableColumns: Columns.optional(),
    constraints: Constraints.optional(),
    databaseTableConstraints: Constraints.optional(),
  })
  .transform((body) => ({
    columns: body.columns ?? body.databaseTableColumns ?? null,
    constraints: body.constraints ?? body.databaseTableConstraints ?? null,
    ...fieldsOf(body),
  }));

/** Which of the two names was used for each, so that errors say the same. */
function fieldsOf(body: { columns?: unknown; constraints?: unknown; [other: string]: unknown }) {
  const { columns, databaseTableColumns, constraints, databaseTableConstraints } = body;
  return {
    columnsField: columns || !databaseTableColumns ? ('columns' as const) : ('databaseTableColumns' as const),
    constraintsField:
      constraints || !databaseTableConstraints ? ('constraints' as const) : ('databaseTableConstraints' as const),
  };
}

/** A filter in the address is JSON. */
const FilterText = z
  .string()
  .transform((text, check) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      check.addIssue({ code: 'custom', message: 'must be JSON, such as {"id": {"=": 1}}; SQL text is not taken' });
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

/** Of two names for one thing; which of them it was, errors say. */
interface Ordered {
  order?: z.output<typeof Order>;
  sort?: z.output<typeof Order>;
}

function orderOf({ order, sort }: Ordered) {
  return order || !sort
    ? { order: order ?? [], orderField: 'order' as const }
    : { order: sort, orderField: 'sort' as const };
}

const OrderAlias = Order.meta({ description: 'Another name for `order`' });

const orderForm =
  /^(?:(?<quoted>"(?:[^"]|"")+")|(?<bare>[^\s",();]+))(?:\s+(?<direction>asc|desc))?(?:\s+nulls\s+(?<nulls>first|last))?$/i;

export const RowQuery = z
  .object({
    page: z.coerce.number().int().min(1).max(1_000_000_000).default(1),
    pageSize: z.coerce.number().int().min(1).max(1_000).default(100),
    q: FilterText,
    order: Order,
    sort: OrderAlias,
    count: Flag.meta({ description: 'Counts what the filter finds, which takes the time of reading it all' }),
  })
  .transform(({ order, sort, ...query }) => ({ ...query, ...orderOf({ order, sort }) }));

const MOST_ROWS = 1_000;

export const RowsAdd = z.object({ databaseTableRowData: z.array(DatabaseRow).min(1).max(MOST_ROWS) });

const Where = DatabaseFilterObject.nullish();

function filterOf({ where, query }: { where?: z.output<typeof Where>; query?: z.output<typeof Where> }) {
  return where || !query
    ? { filter: where ?? null, filterField: 'where' as const }
    : { filter: query, filterField: 'query' as const };
}

const RowChange = z
  .object({ data: DatabaseRow, where: Where, query: Where, all: z.boolean().default(false) })
  .transform(({ data, where, query, all }) => {
    const { filter, filterField } = filterOf({ where, query });
    return { data, where: filter, whereField: filterField, all };
  });

export const RowsUpdate = z.object({ databaseTableRowData: z.array(RowChange).min(1).max(MOST_ROWS) });

/** Without a filter every row is meant, and `all` must say so. */
export const RowsDelete = z
  .object({ where: Where, query: Where, all: z.boolean().default(false) })
  .transform(({ where, query, all }) => ({ ...filterOf({ where, query }), all }));

export const RowsExport = z
  .object({
    where: Where,
    query: Where,
    order: Order,
    sort: OrderAlias,
    exportFormat: z.enum(['json', 'csv', 'xlsx'], { error: 'must be json, csv or xlsx' }).default('csv'),
  })
  .transform(({ where, query, order, sort, exportFormat }) => ({
    ...filterOf({ where, query }),
    ...orderOf({ order, sort }),
    format: exportFormat,
  }));

export const StatisticsQuery = z.object({ q: FilterText });

const upper = (text: string) => text.trim().replace(/\s+/g, ' ').toUpperCase();
const TIMINGS = ['BEFORE', 'AFTER', 'INSTEAD OF'] as const;
const FOR_EACH = ['ROW', 'STATEMENT'] as const;
const Events = z.array(z.enum(['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'])).min(1);

export const TriggerCreate = z
  .object({
    databaseTableName: DatabaseName,
    databaseTriggerName: DatabaseName,
    triggerTiming: z.string().default('AFTER').transform(upper).pipe(z.enum(TIMINGS)).meta({ enum: TIMINGS }),
    /** `INSERT OR UPDATE`, `insert, update`, or a list. */
    triggerEvents: z
      .union([z.string(), z.array(z.string()).max(4)])
      .default('INSERT')
      .transform((events) => (Array.isArray(events) ? events : events.split(/,|\s+or\s+/i)).map(upper))
      .pipe(Events),
    forEach: z
      .string()
      .optional()
      .transform((text) => text && upper(text))
      .pipe(z.enum(FOR_EACH).optional())
      .meta({ enum: FOR_EACH, description: 'Without it ROW, or STATEMENT for TRUNCATE' }),
    triggerFunction: z.string().max(300).meta({ description: "Of the table's schema, or `schema.function`" }),
    triggerCondition: z.string().max(10_000).nullish(),
  })
  .transform((body, check) => {
    const routine = readRoutine(body.triggerFunction);
    if (!routine) {
      check.addIssue({
        code: 'custom',
        path: ['triggerFunction'],
        message: 'must name a function: name or schema.name',
      });
      return z.NEVER;
    }
    return {
      table: body.databaseTableName,
      trigger: body.databaseTriggerName,
      timing: body.triggerTiming,
      events: [...new Set(body.triggerEvents)],
      forEach: body.forEach ?? (body.triggerEvents.includes('TRUNCATE') ? ('STATEMENT' as const) : ('ROW' as const)),
      routine,
      condition: body.triggerCondition || null,
    };
  });

const routineForm = /^(?:("(?:[^"]|"")+"|[^".()\s]+)\s*\.\s*)?("(?:[^"]|"")+"|[^".()\s]+)(?:\s*\(\s*\))?$/;

function readRoutine(text: string): { schema: string | null; name: string } | undefined {
  const [, schema, name] = routineForm.exec(text.trim()) ?? [];
  if (!name) return undefined;
  const bare = (part: string) => (part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part);
  const routine = { schema: schema ? bare(schema) : null, name: bare(name) };
  const isFit = [routine.schema ?? 'none', routine.name].every((part) => DatabaseName.safeParse(part).success);
  return isFit ? routine : undefined;
}

/** What a change of the database's form answers. */
export const Changed = z.object({ message: z.string(), sql: z.array(z.string()), preview: z.boolean() });
export const SchemaCreated = Changed.extend({ databaseSchema: z.object({ databaseSchemaName: z.string() }) });

const SQLResult = z.object({
  command: z.string().nullable(),
  rowCount: z.int().nullable(),
  truncated: z.boolean(),
  notices: z.array(z.object({ severity: z.string(), message: z.string() })),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  rows: z.array(DatabaseRow),
});

/** `result` and `rowCount` are the last statement's. */
export const SQLResults = z.object({
  message: z.string().default('Executed'),
  result: z.array(DatabaseRow),
  rowCount: z.int().nullable(),
  results: z.array(SQLResult),
});

const NamedColumn = z.object({ databaseTableColumnName: z.string(), databaseTableColumnType: z.string() });

export const Metadata = z.object({
  databaseMetadata: z.object({
    metadata: z.array(
      z.object({
        databaseSchemaName: z.string(),
        tables: z.array(
          z.object({
            databaseTableName: z.string(),
            databaseTableColumns: z.array(NamedColumn),
            keys: z.array(z.object({ constraintName: z.string(), constraintType: z.string() })),
            indexes: z.array(z.object({ indexName: z.string(), indexDefinition: z.string() })),
            estimatedRowCount: z.number(),
            sizeBytes: z.number(),
          }),
        ),
        views: z.array(z.string()),
        enums: z.array(z.object({ enum_name: z.string(), values: z.array(z.string()) })),
      }),
    ),
  }),
});

export const Schemas = z.object({
  databaseSchemas: z.array(z.object({ databaseSchemaName: z.string(), tableCount: z.int(), sizeBytes: z.number() })),
});

const Table = z.object({
  databaseSchemaName: z.string(),
  databaseTableName: z.string(),
  databaseTableType: z.string(),
  primaryKey: z.array(z.string()),
  databaseTableColumns: z.array(
    NamedColumn.extend({
      isList: z.boolean(),
      isNullable: z.boolean(),
      notNull: z.boolean(),
      defaultValue: z.string().nullable(),
      unique: z.boolean(),
      primaryKey: z.boolean(),
      check: z.string().nullable(),
    }),
  ),
  databaseTableConstraints: z.array(
    z.object({
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
    }),
  ),
});

export const Tables = z.object({ databaseTables: z.array(Table) });
export const OneTable = z.object({ databaseTable: Table });

export const Rows = z.object({
  databaseTableRows: z.array(DatabaseRow),
  page: z.int(),
  pageSize: z.int(),
  /** Null after the last page. */
  nextPage: z.int().nullable(),
  totalCount: z.int().optional(),
});

export const RowsAdded = z.object({
  message: z.string(),
  updatedRowCount: z.int(),
  databaseTableRows: z.array(DatabaseRow),
});
export const RowsUpdated = z.object({ message: z.string(), updatedRowCount: z.int() });
export const RowsDeleted = z.object({ message: z.string(), deletedRowCount: z.int() });

export const Statistics = z.object({
  databaseTableStatistics: z.object({
    databaseTableRowCount: z.int(),
    estimatedRowCount: z.number(),
    sizeBytes: z.number(),
  }),
});

const Trigger = z.object({
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
});

export const Triggers = z.object({ databaseTriggers: z.array(Trigger) });
export const OneTrigger = z.object({ databaseTrigger: Trigger });
