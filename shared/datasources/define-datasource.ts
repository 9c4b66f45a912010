import type { z } from 'zod';
import type { Permission } from '../policy/permissions.ts';

/** How a text of a query takes the values of its templates. */
export type TemplateUse =
  | OneUse
  /** Another field says in which language this one is; it has no templates itself, and `otherwise` is its default. */
  | { as: 'chosen'; by: string; otherwise: string; uses: Readonly<Record<string, OneUse>> };

export type OneUse =
  /** SQL: each value is a bound parameter. */
  | { as: 'statement'; dialect: Dialect }
  /** JSON as text: values are written as JSON, or escaped inside quotes. */
  | { as: 'json' }
  /** The path of a URL: values are percent-encoded and cannot be a step up. */
  | { as: 'path' }
  /** A topic of MQTT: a value is one level or a part of it, and no wildcard. */
  | { as: 'topic' }
  /** XML as text: values are escaped. */
  | { as: 'xml' }
  /** Plain text: values are written out. */
  | { as: 'text' }
  /** Another language, which has parameters of its own: templates are refused. */
  | { as: 'none'; instead: string };

/** What tells the quotes, comments and placeholders of one SQL from those of another. */
export type Dialect = 'postgresql' | 'mysql' | 'sqlite' | 'duckdb';

/** What a datasource type is: how it is reached and what it can be asked. What it does is in `workers/connectors`. */
export interface DatasourceDefinition<
  Type extends string = string,
  Options extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> {
  readonly type: Type;
  readonly label: string;
  readonly category: 'database' | 'api' | 'messaging' | 'file' | 'mail';
  /** `datasourceOptions`. Secrets are declared with `secret()`, words for people with `.meta({ title, description })`. */
  readonly options: Options;
  /** The fields of `dataQueryOptions` that are the type's own. */
  readonly query: Query;
  /** Top-level fields of the query whose texts are a language. In all others a template's value is just a value. */
  readonly templates?: Readonly<Record<string, TemplateUse>>;
  /** Queries of this type need not name a datasource; whoever writes one needs this permission in the place of `datasource.read`. */
  readonly standsAlone?: { readonly permission: Permission };
  /** What an editor starts with. */
  readonly defaults: { readonly options: z.input<Options>; readonly query: z.input<Query> };
}

export function defineDatasource<const Type extends string, Options extends z.ZodType, Query extends z.ZodType>(
  definition: DatasourceDefinition<Type, Options, Query>,
): DatasourceDefinition<Type, Options, Query> {
  return definition;
}
