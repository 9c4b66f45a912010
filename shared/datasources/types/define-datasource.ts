import type { z } from 'zod';
import type { Permission } from '../../access/policy/permissions.ts';

/** How the values of templates are put into a text of a query. */
export type TemplateUse =
  | OneUse
  /** The field `by` names the language of this one. It has no templates itself; `otherwise` is its default. */
  | { as: 'chosen'; by: string; otherwise: string; uses: Readonly<Record<string, OneUse>> };

export type OneUse =
  /** SQL: each value is a bound parameter. */
  | { as: 'statement'; dialect: Dialect }
  /** JSON as text: values are written as JSON, or escaped inside quotes. */
  | { as: 'json' }
  /** The path of a URL: values are percent-encoded and cannot be `.` or `..`. */
  | { as: 'path' }
  /** An MQTT topic: a value is one level or a part of it, and never a wildcard. */
  | { as: 'topic' }
  /** XML as text: values are escaped. */
  | { as: 'xml' }
  /** Plain text: values are written out. */
  | { as: 'text' }
  /** Another language, which has parameters of its own: templates are refused. */
  | { as: 'none'; instead: string };

/** Dialects of SQL, which differ in quotes, comments and placeholders. */
export type Dialect = 'postgresql' | 'mysql' | 'sqlite' | 'duckdb';

/** Contract of a datasource type: its options and its queries. The behaviour is in `workers/connectors`. */
export interface DatasourceDefinition<
  Type extends string = string,
  Options extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> {
  readonly type: Type;
  readonly label: string;
  readonly category: 'database' | 'api' | 'messaging' | 'file' | 'mail';
  /** Schema of `datasourceOptions`. Secrets are declared with `secret()`, labels with `.meta({ title, description })`. */
  readonly options: Options;
  /** Schema of the type's own fields in `dataQueryOptions`. */
  readonly query: Query;
  /**
   * Top-level fields of the query whose texts are in some language. In other fields a template is replaced by its value.
   * Required: in a field of SQL that is left out, a value would become SQL.
   */
  readonly templates: Readonly<Record<string, TemplateUse>>;
  /**
   * Names what a query changes, such as `POST /orders`; null if it only reads. A dry run refuses queries that change something. SQL for which
   * this is null is executed read-only in a dry run, so that the server refuses a write that was not recognized.
   */
  writes(query: z.output<Query>): string | null;
  /** Queries of this type need no datasource; writing one requires this permission instead of `datasource.read`. */
  readonly standsAlone?: { readonly permission: Permission };
  /** It has no queries, only listeners. */
  readonly listensOnly?: true;
  /** Whether a query can write a receipt into the same transaction, by which a repeated attempt changes nothing. */
  readonly receipts?: true;
  /** Initial values for an editor. */
  readonly defaults: { readonly options: z.input<Options>; readonly query: z.input<Query> };
}

export function defineDatasource<const Type extends string, Options extends z.ZodType, Query extends z.ZodType>(
  definition: DatasourceDefinition<Type, Options, Query>,
): DatasourceDefinition<Type, Options, Query> {
  return definition;
}
