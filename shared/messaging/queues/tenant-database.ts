import { z } from 'zod';
import { Json, OwnJsonObject } from '../../core/json.ts';
import { DatabaseFilterObject } from '../../datasources/tenant-database/filter.ts';
import {
  DatabaseColumn,
  DatabaseConstraint,
  DatabaseName,
  DatabaseOrder,
  DatabaseRow,
} from '../../datasources/tenant-database/table.ts';
import { defineRPC } from './define-rpc.ts';

const ofSchema = { schema: DatabaseName };
const ofTable = { ...ofSchema, table: DatabaseName };
const ofTrigger = { ...ofTable, trigger: DatabaseName };
const filter = DatabaseFilterObject.nullable();
const filtered = { filter };
const ordered = { order: z.array(DatabaseOrder).max(32) };
/** Returns the SQL without executing it. */
const preview = z.boolean();

/**
 * The operations on a tenant's database. The API checks their form, the worker checks them against the database. Errors of the
 * worker have paths with the contract's first names (`where`, `columns.0.check`, `databaseTableRowData.3.price`); the API replaces
 * them by the names that the client used.
 */
export const DatabaseOperation = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('executeSQL'),
    sql: z.string(),
    params: z.array(Json),
    readOnly: z.boolean(),
    timeoutSeconds: z.number(),
    maxRows: z.int(),
  }),
  z.object({ kind: z.literal('readMetadata') }),
  z.object({ kind: z.literal('listSchemas') }),
  z.object({ kind: z.literal('createSchema'), ...ofSchema, preview }),
  z.object({ kind: z.literal('dropSchema'), ...ofSchema, cascade: z.boolean(), preview }),
  z.object({ kind: z.literal('listTables'), ...ofSchema }),
  z.object({ kind: z.literal('readTable'), ...ofTable }),
  z.object({
    kind: z.literal('createTable'),
    ...ofTable,
    columns: z.array(DatabaseColumn),
    constraints: z.array(DatabaseConstraint),
    ifNotExists: z.boolean(),
    preview,
  }),
  z.object({
    kind: z.literal('updateTable'),
    ...ofTable,
    columns: z.array(DatabaseColumn).nullable(),
    constraints: z.array(DatabaseConstraint).nullable(),
    preview,
  }),
  z.object({ kind: z.literal('dropTable'), ...ofTable, cascade: z.boolean(), preview }),
  z.object({
    kind: z.literal('listRows'),
    ...ofTable,
    page: z.int(),
    pageSize: z.int(),
    ...filtered,
    ...ordered,
    count: z.boolean(),
  }),
  z.object({ kind: z.literal('addRows'), ...ofTable, rows: z.array(DatabaseRow) }),
  z.object({
    kind: z.literal('updateRows'),
    ...ofTable,
    /** With `isKeyed`, the data has the primary key of the row to change; with `single`, the filter must find one row. */
    changes: z.array(
      z.object({
        data: DatabaseRow,
        where: filter,
        all: z.boolean(),
        isKeyed: z.boolean().optional(),
        single: z.boolean().optional(),
      }),
    ),
  }),
  z.object({
    kind: z.literal('deleteRows'),
    ...ofTable,
    ...filtered,
    all: z.boolean(),
    single: z.boolean().optional(),
  }),
  z.object({ kind: z.literal('exportRows'), ...ofTable, ...filtered, ...ordered, callerID: z.uuid() }),
  z.object({ kind: z.literal('readStatistics'), ...ofTable, ...filtered }),
  z.object({ kind: z.literal('listTriggers'), ...ofSchema }),
  z.object({ kind: z.literal('readTrigger'), ...ofTrigger }),
  z.object({
    kind: z.literal('createTrigger'),
    ...ofTrigger,
    timing: z.enum(['BEFORE', 'AFTER', 'INSTEAD OF']),
    events: z.array(z.enum(['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'])),
    forEach: z.enum(['ROW', 'STATEMENT']),
    /** `isDefault` if the request names none: it is the function with the name of the trigger. */
    routine: z.object({ schema: DatabaseName.nullable(), name: DatabaseName, isDefault: z.boolean().optional() }),
    condition: z.string().nullable(),
    preview,
  }),
  z.object({ kind: z.literal('dropTrigger'), ...ofTrigger, preview }),
]);
export type DatabaseOperation = z.infer<typeof DatabaseOperation>;
export type DatabaseOperationOf<Kind extends DatabaseOperation['kind']> = Extract<DatabaseOperation, { kind: Kind }>;

/** `source` of the stored result pages that belong to an exported file. */
export const DATABASE_EXPORT = 'database.export';

/** The result of `exportRows`: the first page of the rows, and where the others are stored. */
export const DatabaseExport = z.object({
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  rows: z.array(DatabaseRow),
  totalCount: z.int(),
  resultID: z.uuid(),
  pages: z.int(),
});
export type DatabaseExport = z.infer<typeof DatabaseExport>;

/** Operations that read the catalog alone. */
const lookups: ReadonlySet<DatabaseOperation['kind']> = new Set([
  'readMetadata',
  'listSchemas',
  'listTables',
  'readTable',
  'listTriggers',
  'readTrigger',
]);

/** Everything under `T/database`. */
export const tenantDatabase = defineRPC({
  name: 'tenant.database',
  request: z.object({ tenantID: z.uuid(), operation: DatabaseOperation }),
  /** The response body of the route that sends the request. */
  response: OwnJsonObject,
  timeoutMs: 65_000,
  maxConcurrent: { tenant: 8 },
  isShort: ({ operation }) => lookups.has(operation.kind),
});
