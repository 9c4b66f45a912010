import { z } from 'zod';
import { JsonObject } from '../../../core/json.ts';
import { secret } from '../../../core/schema/secret.ts';
import { type DatasourceDefinition, defineDatasource } from '../define-datasource.ts';
import type { restapi } from '../restapi.ts';

/** The credentials, as names of fields of the options. */
export type PresetAuth = { as: 'bearer'; token: string } | { as: 'basic'; username: string; password: string };

/** Fields of a body, each with the name of the query field that fills it, or with fields of its own. */
export interface PresetBody {
  readonly [name: string]: string | PresetBody;
}

type Pagination = z.input<typeof restapi.query>['pagination'] & {};
type Without<T> = T extends unknown ? Omit<T, 'itemsPath' | 'limitParam' | 'pageSize'> : never;

/** How a list is paged, in terms of the REST type. */
export interface PresetPaging {
  /** The query field with the number of items wanted in all. */
  readonly wanted: string;
  /** The parameter or body field for the size of a page. */
  readonly size: string;
  readonly maxPageSize: number;
  readonly by: Without<Exclude<Pagination, { type: 'none' | 'page' }>>;
}

/** One call of the API. In `path`, `{name}` is a query field or a field of the options, as one segment. */
export interface PresetCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Parameters of the URL, each with the name of the query field that fills it. */
  readonly params?: Readonly<Record<string, string>>;
  /** The query field whose own fields are further parameters. */
  readonly filters?: string;
  /** Fields of the body, or the name of the query field that is the whole body. */
  readonly body?: PresetBody | string;
  /** Required query fields, beside those in the path. */
  readonly needs?: readonly string[];
  /** Path of the list in the response; empty: the response is the list; absent: the response is the result. */
  readonly items?: string;
  /** Absent: one page. */
  readonly paging?: PresetPaging;
}

/** An API described as data: its credentials, and its calls by the API's own names. */
export interface Preset {
  /** `{name}` is a field of the options. */
  readonly baseUrl: string;
  readonly auth: PresetAuth;
  readonly headers?: Readonly<Record<string, string>>;
  /** Headers, each with the name of the options field that fills it. Absent if that is empty. */
  readonly optionHeaders?: Readonly<Record<string, string>>;
  readonly bodyFormat: 'json' | 'form';
  /** Operations by `resource.operation`, or by `operation` if the API has only one resource. */
  readonly calls: Readonly<Record<string, PresetCall>>;
  /** For an API that answers errors with 200: the field that is then false, and the field with the reason. */
  readonly failure?: { readonly ok: string; readonly message: string };
  /** Path that the test of a datasource requests. */
  readonly probe: string;
}

export interface PresetDefinition<
  Type extends string = string,
  Options extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> extends DatasourceDefinition<Type, Options, Query> {
  readonly preset: Preset;
}

export function definePreset<const Type extends string, Options extends z.ZodObject, Query extends z.ZodObject>(
  definition: Omit<PresetDefinition<Type, Options, Query>, 'category' | 'templates' | 'writes'>,
): PresetDefinition<Type, Options, Query> {
  const { preset, options } = definition;
  const query = definition.query.superRefine((value, issues) => {
    const fields = value as Readonly<Record<string, unknown>>;
    const name = callName(fields);
    const call = Object.hasOwn(preset.calls, name) ? preset.calls[name] : undefined;
    if (!call) {
      const known = Object.keys(preset.calls).join(', ');
      issues.addIssue({
        code: 'custom',
        path: ['operation'],
        message: `there is no operation ${name}; expected one of ${known}`,
      });
      return;
    }
    const inPath = fieldsInPath(call.path).filter((field) => !Object.hasOwn(options.shape, field));
    for (const field of [...(call.needs ?? []), ...inPath])
      if (isEmpty(fields[field]))
        issues.addIssue({ code: 'custom', path: [field], message: `is required for ${name}` });
  }) as Query;
  /** Names the operation if it writes. Some APIs list by POST, so a call with `items` only reads. */
  const writes = (value: unknown) => {
    const name = callName(value as Readonly<Record<string, unknown>>);
    const call = preset.calls[name];
    return !call || call.method === 'GET' || call.items !== undefined ? null : name;
  };
  return { ...defineDatasource({ ...definition, query, category: 'api', templates: {}, writes }), preset };
}

/** The key of a call in `calls`. */
export function callName({ resource, operation }: { resource?: unknown; operation?: unknown }): string {
  return resource === undefined ? String(operation) : `${String(resource)}.${String(operation)}`;
}

/** Calls of one resource, under its name. */
export function named(resource: string, calls: Readonly<Record<string, PresetCall>>): Record<string, PresetCall> {
  return Object.fromEntries(Object.entries(calls).map(([operation, call]) => [`${resource}.${operation}`, call]));
}

function fieldsInPath(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

/** Whether a field is empty. Empty fields are left out of the request. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** Field with a text of the API: an id, a name, a point in time. */
export function id(title: string, description: string) {
  return z.string().max(500).default('').meta({ title, description });
}

/** Field with a longer text. */
export function text(title: string, description: string) {
  return z.string().max(40_000).default('').meta({ title, description });
}

/** Ids with commas between them, as some APIs take several. */
export function joined(title: string, description: string) {
  return z
    .string()
    .max(8_000)
    .default('')
    .meta({ title, description: `${description}, with commas between several` });
}

export function token(title: string, description: string, max = 500) {
  return secret(z.string().max(max)).meta({ title, description: `${description}. It is stored encrypted` });
}

export function resource<const Names extends readonly [string, ...string[]]>(names: Names) {
  return z.enum(names).meta({ title: 'Resource', description: 'What the query is about' });
}

export function operation<const Names extends readonly [string, ...string[]]>(
  names: Names,
  description = 'What is done with the resource; each resource has some of these operations',
) {
  return z.enum(names).meta({ title: 'Operation', description });
}
export function fieldsOf(title: string, description: string) {
  return JsonObject.default({}).meta({ title, description });
}

/** Number of items wanted, up to the limit of one query. */
export const wanted = z.int().min(1).max(10_000).default(100).meta({
  title: 'Items at most',
  description: 'How many items of a list are read in all, over as many pages as needed',
});
