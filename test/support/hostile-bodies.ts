import { z } from 'zod';
import type { Route } from '#api/http/route/route.ts';
import { datasources } from '#shared/datasources/types/index.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';
import type { JsonSchema } from './from-schema.ts';

const repeat = (bytes: number, unit: string) => unit.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(unit))));
const list = (bytes: number, unit: string) => `[${repeat(bytes, `${unit},`)}${unit}]`;
const text = (bytes: number, unit: string) => JSON.stringify(repeat(bytes - 2, unit));
const keys = (bytes: number, value: string) => {
  const count = Math.floor(bytes / (value.length + 11));
  return `{${Array.from({ length: count }, (_, at) => `"k${String(at).padStart(6, '0')}":${value}`).join(',')}}`;
};
const wide = (bytes: number) => {
  const object = keys(540_000, '1');
  return `[${Array.from({ length: Math.max(1, Math.floor(bytes / object.length)) }, () => object).join(',')}]`;
};
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

/** JSON texts of about so many bytes. */
export const hostileValues: Readonly<Record<string, (bytes: number) => string>> = {
  'empty objects': (bytes) => list(bytes, '{}'),
  'empty lists': (bytes) => list(bytes, '[]'),
  'small numbers': (bytes) => list(bytes, '1'),
  'long numbers': (bytes) => list(bytes, '0.1234567890123456'),
  'small objects': (bytes) => list(bytes, '{"a":1,"b":"c"}'),
  'short texts': (bytes) => list(bytes, '"a"'),
  nulls: (bytes) => list(bytes, 'null'),
  'templates in a list': (bytes) => list(bytes, '"{{a}}"'),
  'many keys': (bytes) => keys(bytes, '1'),
  'many keys of objects': (bytes) => keys(bytes, '{}'),
  'many keys of templates': (bytes) => keys(bytes, '"{{a}}"'),
  // As many keys as one object may have.
  'wide objects': wide,
  'nested lists': (bytes) => list(bytes, nested(100)),
  'too deep': (bytes) => nested(bytes / 2),
  'a long text': (bytes) => text(bytes, 'x'),
  braces: (bytes) => text(bytes, '{{'),
  templates: (bytes) => text(bytes, '{{a}}'),
  'templates of inputs': (bytes) => text(bytes, '{{inputs.a}}'),
  'templates of ctx': (bytes) => text(bytes, '{{ctx.a}}'),
  'a long path': (bytes) => `"{{ctx${repeat(bytes, '.a')}}}"`,
  brackets: (bytes) => `"{{ctx${repeat(bytes, '[0')}}}"`,
  semicolons: (bytes) => text(bytes, ';'),
  parentheses: (bytes) => text(bytes, '('),
  quotes: (bytes) => text(bytes, "'"),
  'double quotes': (bytes) => text(bytes, '"'),
  dollars: (bytes) => text(bytes, '$a$'),
  dollar: (bytes) => text(bytes, '$1'),
  comments: (bytes) => text(bytes, '/*'),
  dashes: (bytes) => text(bytes, '-'),
  lines: (bytes) => text(bytes, '\n'),
  spaces: (bytes) => text(bytes, ' '),
  dots: (bytes) => text(bytes, 'a.'),
  slashes: (bytes) => text(bytes, '/'),
  tags: (bytes) => text(bytes, '<a'),
  commas: (bytes) => text(bytes, 'a,'),
  'at signs': (bytes) => text(bytes, 'a@'),
  escapes: (bytes) => text(bytes, '\\'),
  'control characters': (bytes) => text(bytes / 6, '\u0001'),
  digits: (bytes) => text(bytes, '1'),
  unicode: (bytes) => text(bytes, '💥'),
  'json in a text': (bytes) => JSON.stringify(list(bytes * 0.9, '{}')),
};

const HOLE = '@hole@';

/** A body as text, with a hole for a hostile value. */
export interface Spot {
  name: string;
  fill(value: string): string;
}

/** The places of a valid body that its schema knows. */
export function spotsIn(route: Route, valid: unknown): Spot[] {
  if (!route.body) return [];
  const found = new Map<string, string>();
  for (const { schema, ...start } of startsOf(route.body, valid))
    walk(schema, { ...start, definitions: definitionsOf(schema), depth: 0 }, (name, body) => {
      const text = JSON.stringify(body);
      if (text.includes(`"${HOLE}"`)) found.set(name || 'all', text);
    });
  return [...found].map(([name, text]) => ({ name, fill: (value) => text.split(`"${HOLE}"`).join(value) }));
}

interface Start {
  name: string;
  schema: JsonSchema;
  valid: unknown;
  put(value: unknown): unknown;
}

/** The body itself, and the parts that are described by a schema of their own: options of types, data of nodes. */
function startsOf(schema: z.ZodType, valid: unknown): Start[] {
  const starts: Start[] = [{ name: '', schema: schemaOf(schema), valid, put: (value) => value }];
  if (!isObject(valid)) return starts;
  for (const { type, options, query, defaults } of datasources) {
    const name = `<${type}>`;
    if ('datasourceOptions' in valid) {
      const put = (value: unknown) => ({ ...valid, datasourceType: type, datasourceOptions: value });
      starts.push({ name, schema: schemaOf(options), valid: defaults.options, put });
    }
    if ('dataQueryOptions' in valid) {
      const put = (value: unknown) => ({ ...valid, datasourceID: null, datasourceType: type, dataQueryOptions: value });
      starts.push({ name, schema: schemaOf(query), valid: defaults.query, put });
    }
    if ('dataQuery' in valid) {
      const put = (value: unknown) => ({ dataQuery: { datasourceType: type, dataQueryOptions: value } });
      starts.push({ name, schema: schemaOf(query), valid: defaults.query, put });
    }
  }
  if ('nodes' in valid)
    for (const { kind, config, defaultValue } of nodes) {
      const put = (data: unknown) => ({ ...valid, ...chainWith(kind, data) });
      starts.push({ name: `<${kind}>`, schema: schemaOf(config), valid: defaultValue, put });
    }
  return starts;
}

function schemaOf(schema: z.ZodType): JsonSchema {
  // JSON Schema has more than the part that is read here.
  return z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' }) as JsonSchema;
}

function chainWith(kind: string, data: unknown): object {
  return {
    nodes: [
      { id: 'start', type: 'start', data: {} },
      { id: 'one', type: kind, data },
      { id: 'end', type: 'end', data: {} },
    ],
    edges: [
      { id: 'a', source: 'start', target: 'one' },
      { id: 'b', source: 'one', target: 'end' },
    ],
  };
}

function definitionsOf(schema: JsonSchema): Record<string, JsonSchema> {
  return (schema as { $defs?: Record<string, JsonSchema> }).$defs ?? {};
}

interface Within {
  name: string;
  valid: unknown;
  definitions: Record<string, JsonSchema>;
  depth: number;
  put(value: unknown): unknown;
}

function walk(schema: JsonSchema, spot: Within, add: Add): void {
  const { name, definitions, depth, put } = spot;
  if (depth > 6) return;
  const same = { ...spot, depth: depth + 1 };
  if (schema.$ref) return walk(definitions[schema.$ref.split('/').at(-1) ?? ''] ?? {}, same, add);
  for (const choice of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    walk(choice, same, add);
  add(name, put(HOLE));
  for (const { schema: inner, ...part } of partsOf(schema, spot)) walk(inner, { ...same, ...part }, add);
}

type Add = (name: string, body: unknown) => void;

/** The fields and elements that a schema knows. */
function partsOf({ properties = {}, additionalProperties: rest, items }: JsonSchema, { name, valid, put }: Within) {
  const object = isObject(valid) ? valid : {};
  const list = Array.isArray(valid) ? valid : [];
  const field = (key: string, own: string, schema: JsonSchema) => ({
    schema,
    name: name + own,
    valid: object[key],
    put: (value: unknown) => put({ ...object, [key]: value }),
  });
  const parts = Object.entries(properties).map(([key, schema]) => field(key, `.${key}`, schema));
  if (rest && typeof rest === 'object') parts.push(field(Object.keys(object)[0] ?? 'key', '{}', rest));
  if (items)
    parts.push({
      schema: items,
      name: `${name}[]`,
      valid: list[0],
      put: (value) => put([value, ...list.slice(1)]),
    });
  return parts;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
