import { z } from 'zod';
import { isJsonObject, Json, type JsonObject } from '../../core/json.ts';

const MAX_NAME_BYTES = 63;

/** Postgres truncates longer names, so two names with the same beginning would become one. */
export const DatabaseName = z
  .string()
  .min(1)
  .max(255)
  .refine((name) => new TextEncoder().encode(name).length <= MAX_NAME_BYTES, {
    error: `must be at most ${MAX_NAME_BYTES} bytes, the longest name that Postgres stores`,
  });

const Expression = z.string().min(1).max(10_000);

export const DatabaseColumn = z.object({
  databaseTableColumnName: DatabaseName,
  /** Any type the database has: `text`, `varchar(255)`, `numeric(10,2)`, `timestamp with time zone`, `integer[]`, … */
  databaseTableColumnType: z.string().min(1).max(255),
  isList: z.boolean().optional(),
  /** A value or an allowed function (`now()`, `gen_random_uuid()`, …); null: no default. */
  defaultValue: Json.optional(),
  notNull: z.boolean().optional(),
  unique: z.boolean().optional(),
  primaryKey: z.boolean().optional(),
  /** An SQL expression; null: no check. */
  check: Expression.nullish(),
});
export type DatabaseColumn = z.infer<typeof DatabaseColumn>;

const Action = z
  .string()
  .transform((text) => text.trim().toUpperCase())
  .pipe(z.enum(['NO ACTION', 'RESTRICT', 'CASCADE', 'SET NULL', 'SET DEFAULT']));

export const DatabaseConstraint = z.object({
  constraintName: DatabaseName.optional(),
  constraintType: z
    .string()
    .transform((text) => text.trim().toUpperCase())
    .pipe(z.enum(['PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY', 'CHECK'])),
  databaseTableColumns: z.array(DatabaseName).max(32).default([]),
  /** Schema of the other table, if it is not the same schema. */
  referencedSchema: DatabaseName.nullish(),
  referencedTable: DatabaseName.nullish(),
  referencedColumns: z.array(DatabaseName).max(32).nullish(),
  onUpdate: Action.nullish(),
  onDelete: Action.nullish(),
  check: Expression.nullish(),
});
export type DatabaseConstraint = z.infer<typeof DatabaseConstraint>;

/** Values by column. Not copied: a zod record drops the key `__proto__`, which may be the name of a column. */
export const DatabaseRow = z
  .custom<JsonObject>(isJsonObject, 'must be an object')
  .meta({ type: 'object', description: 'Values by column' });

export const DatabaseOrder = z.object({
  column: z.string().min(1),
  descending: z.boolean(),
  nulls: z.enum(['first', 'last']).nullable(),
});
