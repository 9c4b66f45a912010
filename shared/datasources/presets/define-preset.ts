import { z } from 'zod';
import { type DatasourceDefinition, defineDatasource } from '../define-datasource.ts';
import type { restapi } from '../restapi.ts';

/** How options become credentials: names of fields of the options. */
export type PresetAuth = { as: 'bearer'; token: string } | { as: 'basic'; username: string; password: string };

/** Fields of a body, each with the field of the query that it takes, or with fields of its own. */
export interface PresetBody {
  readonly [name: string]: string | PresetBody;
}

type Pagination = z.input<typeof restapi.query>['pagination'] & {};
type Without<T> = T extends unknown ? Omit<T, 'itemsPath' | 'limitParam' | 'pageSize'> : never;

/** How a list goes on, in the words of the REST type. */
export interface PresetPaging {
  /** The field of the query that says how many are wanted in all. */
  readonly wanted: string;
  /** The parameter, or the field of the body, that says how many come at once, and how many that can be. */
  readonly size: string;
  readonly maxPageSize: number;
  readonly by: Without<Exclude<Pagination, { type: 'none' | 'page' }>>;
}

/** One call of the API. In `path`, `{name}` is a field of the query, or of the options, as one segment. */
export interface PresetCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Parameters of the address, each with the field of the query that it takes. */
  readonly params?: Readonly<Record<string, string>>;
  /** The field of the query whose own fields are parameters, too. */
  readonly filters?: string;
  /** Fields of the body, or the field that is the whole body. */
  readonly body?: PresetBody | string;
  /** Fields of the query that there must be, beside those in the path. */
  readonly needs?: readonly string[];
  /** Where the list is in the answer, empty for the answer itself; absent: the answer is the result. */
  readonly items?: string;
  /** Absent: one page. */
  readonly paging?: PresetPaging;
}

/** An API as data: what it takes to ask it by the names of its own things. */
export interface Preset {
  /** `{name}` is a field of the options. */
  readonly baseUrl: string;
  readonly auth: PresetAuth;
  readonly headers?: Readonly<Record<string, string>>;
  /** Headers that take a field of the options, if it is there. */
  readonly optionHeaders?: Readonly<Record<string, string>>;
  readonly bodyFormat: 'json' | 'form';
  /** By `resource.operation`, or by `operation` where the API has one kind of thing. */
  readonly calls: Readonly<Record<string, PresetCall>>;
  /** An API that answers 200 to what it refuses: the field that is then false, and the one that says why. */
  readonly failure?: { readonly ok: string; readonly message: string };
  /** What `test` asks. */
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
  definition: Omit<PresetDefinition<Type, Options, Query>, 'category' | 'templates'>,
): PresetDefinition<Type, Options, Query> {
  const { preset, options } = definition;
  const query = definition.query.superRefine((value, issues) => {
    const fields = value as Readonly<Record<string, unknown>>;
    const name = callName(fields);
    const call = Object.hasOwn(preset.calls, name) ? preset.calls[name] : undefined;
    if (!call) {
      const known = Object.keys(preset.calls).join(', ');
      issues.addIssue({ code: 'custom', path: ['operation'], message: `there is no ${name}; there are ${known}` });
      return;
    }
    const inPath = fieldsInPath(call.path).filter((field) => !Object.hasOwn(options.shape, field));
    for (const field of [...(call.needs ?? []), ...inPath])
      if (isEmpty(fields[field])) issues.addIssue({ code: 'custom', path: [field], message: `is needed for ${name}` });
  }) as Query;
  return { ...defineDatasource({ ...definition, query, category: 'api' }), preset };
}

/** The key in `calls`. */
export function callName({ resource, operation }: { resource?: unknown; operation?: unknown }): string {
  return resource === undefined ? String(operation) : `${String(resource)}.${String(operation)}`;
}

/** Calls of one kind of thing, under its name. */
export function named(resource: string, calls: Readonly<Record<string, PresetCall>>): Record<string, PresetCall> {
  return Object.fromEntries(Object.entries(calls).map(([operation, call]) => [`${resource}.${operation}`, call]));
}

function fieldsInPath(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

/** What was left out by whoever asks is left out of the request. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

export const id = z.string().max(500).default('');
export const text = z.string().max(40_000).default('');
export const limitOf = (maxPageSize: number) => z.int().min(1).max(maxPageSize).default(Math.min(100, maxPageSize));
export const fieldsOf = z.record(z.string(), z.json()).default({});
/** As many as one query may be answered with. */
export const wanted = limitOf(10_000);
