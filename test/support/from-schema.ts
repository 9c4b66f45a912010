import fc from 'fast-check';

/** The part of JSON Schema that our OpenAPI document uses. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  items?: JsonSchema | false;
  prefixItems?: JsonSchema[];
  maxItems?: number;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
}

/** As the unit 'binary', which takes a second to prepare for shrinking, and with single surrogates. */
const codePoint = fc.nat({ max: 0x10ffff }).map((code) => String.fromCodePoint(code));

/** Values that no schema expects, and on which databases, templates and parsers have failed. */
export const nasty: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    2 ** 53,
    '',
    ' ',
    '\0',
    'a\0b',
    '\ud800',
    '\udc00x',
    '💥'.repeat(200),
    'x'.repeat(20_000),
    "'; drop table tenant; --",
    '%_\\',
    '../../etc/passwd',
    '{{ctx.constructor}}',
    '{{ctx.a.b',
    '<script>',
    '__proto__',
    '2026-02-30T25:61:61Z',
    '+294276-12-31T23:59:59.999Z',
    '00000000-0000-0000-0000-000000000000',
    [],
    {},
    [[]],
    { constructor: { prototype: { polluted: true } } },
    JSON.parse('{"__proto__":{"polluted":true}}'),
    { '': '' },
    { 'a\0': 1 },
  ),
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: codePoint, maxLength: 50 }),
  fc.integer({ min: 1, max: 4_000 }).map(nested),
);

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 ? [value] : { a: value };
  return value;
}

/** Values that the schema allows, or nearly: patterns and cross-checks are not looked at. */
export function fromSchema(
  schema: JsonSchema,
  definitions: Record<string, JsonSchema>,
  depth = 0,
): fc.Arbitrary<unknown> {
  const below = (inner: JsonSchema) => fromSchema(inner, definitions, depth + 1);
  if (depth > 5) return fc.constant(null);
  if (schema.$ref) return below(definitions[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fc.oneof(...choices.map(below));
  if (schema.allOf) return fc.tuple(...schema.allOf.map(below)).map((parts) => Object.assign({}, ...parts));
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type) => below({ ...schema, type })));
  return ofType(schema, below);
}

function ofType(schema: JsonSchema, below: (inner: JsonSchema) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const { type, minimum = -1_000, maximum = 1_000 } = schema;
  if (type === 'string') return text(schema);
  if (type === 'integer') return fc.integer({ min: Math.max(minimum, -(2 ** 31)), max: Math.min(maximum, 2 ** 31) });
  if (type === 'number') return fc.double({ min: minimum, max: maximum, noNaN: true });
  if (type === 'boolean') return fc.boolean();
  if (type === 'null') return fc.constant(null);
  if (type === 'array') return array(schema, below);
  if (type === 'object') return object(schema, below);
  return fc.jsonValue({ maxDepth: 2 });
}

function array(
  { prefixItems, items = {}, maxItems = 4 }: JsonSchema,
  below: (inner: JsonSchema) => fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  if (prefixItems) return fc.tuple(...prefixItems.map(below));
  return items === false ? fc.constant([]) : fc.array(below(items), { maxLength: Math.min(maxItems, 4) });
}

function text({ format, minLength = 0, maxLength = 40 }: JsonSchema): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'date-time') return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  if (format === 'email') return fc.emailAddress();
  if (format === 'uri') return fc.webUrl();
  return fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)) });
}

function object(
  { properties = {}, required = [], additionalProperties }: JsonSchema,
  below: (inner: JsonSchema) => fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  const known = fc.record(Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, below(inner)])), {
    requiredKeys: required.filter((name) => name in properties),
  });
  if (!additionalProperties || Object.keys(properties).length > 0) return known;
  const inner = additionalProperties === true ? {} : additionalProperties;
  return fc.dictionary(fc.string({ maxLength: 10 }), below(inner), { maxKeys: 4 });
}

/** The value with something nasty in one place, one thing missing, or one too many. */
export function spoiled(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.tuple(values, nasty, fc.nat(), fc.constantFrom('replace', 'remove', 'add')).map(([value, bad, at, how]) => {
    const copy = structuredClone(value);
    const members = membersIn(copy);
    const member = members[at % Math.max(members.length, 1)];
    if (!member) return bad;
    if (how === 'remove' && !Array.isArray(member.of)) delete member.of[member.key];
    else if (how === 'add' && !Array.isArray(member.of)) member.of.unexpected = bad;
    else member.of[member.key] = bad;
    return copy;
  });
}

interface Member {
  of: Record<string, unknown>;
  key: string;
}

function membersIn(value: unknown): Member[] {
  if (typeof value !== 'object' || value === null) return [];
  const of = value as Record<string, unknown>;
  return Object.keys(of).flatMap((key) => [{ of, key }, ...membersIn(of[key])]);
}
