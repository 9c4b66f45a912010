import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { routes } from '#api/app/routes.ts';
import { findUnknownFields, knowsNoKey, MAX_UNKNOWN_FIELDS } from '#api/http/request/unknown-fields.ts';
import { JsonObject } from '#shared/core/json.ts';
import { readBy } from '#shared/core/schema/walk.ts';
import { fromSchema, type JsonSchema } from '../../../support/from-schema.ts';

const Inner = z.object({ x: z.number().optional() });
type Tree = { name?: string | undefined; children?: Tree[] | undefined };
const Tree: z.ZodType<Tree> = z.lazy(() =>
  z.object({ name: z.string().optional(), children: z.array(Tree).optional() }),
);
const Kinds = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('a'), a: Inner }),
  z.looseObject({ kind: z.literal('b'), b: Inner }),
]);
const byKind = new Map<unknown, z.ZodType>([['a', z.looseObject({ data: Inner })]]);
const Node = readBy(z.looseObject({ kind: z.string(), data: JsonObject }), (node) =>
  byKind.get(Reflect.get(node, 'kind')),
);

test.each<[string, z.ZodType, unknown, string[]]>([
  ['an object', Inner, { x: 1, y: 2 }, ['y']],
  ['an object in an object', z.object({ in: Inner }), { in: { y: 2 } }, ['in.y']],
  ['a list', z.array(Inner), [{}, { x: 1, y: 2 }], ['1.y']],
  ['a tuple', z.tuple([Inner, z.looseObject({})]).rest(Inner), [{ y: 1 }, { y: 1 }, { y: 1 }], ['0.y', '2.y']],
  ['a record', z.record(z.string(), Inner), { any: { x: 1, y: 2 } }, ['any.y']],
  ['a map that is no JSON', z.map(z.string(), Inner), { y: 1 }, []],
  ['an open object', z.looseObject({ in: Inner }), { y: 1, in: { y: 1 } }, ['in.y']],
  ['a catchall', z.object({ in: Inner }).catchall(Inner), { y: { y: 1 }, in: {} }, ['y.y']],
  ['a passthrough', z.object({}).passthrough(), { y: 1 }, []],
  ['what zod itself refuses', z.strictObject({ in: Inner }), { y: 1, in: { y: 1 } }, ['in.y']],
  ['optional, nullable, default', Inner.nullish().default({}), { y: 1 }, ['y']],
  ['prefault, catch, readonly', Inner.prefault({}).catch({}).readonly(), { y: 1 }, ['y']],
  ['a refined object', Inner.refine(() => true).superRefine(() => {}), { y: 1 }, ['y']],
  ['an object before a transform', Inner.transform((value) => value.x), { y: 1 }, ['y']],
  ['an object after a transform', z.preprocess((value) => value, Inner), { y: 1 }, []],
  [
    'the way in of a codec',
    z.codec(Inner, z.object({ y: z.number() }), { decode: () => ({ y: 1 }), encode: () => ({}) }),
    { y: 1 },
    ['y'],
  ],
  ['what code looks at', z.custom(), { y: 1 }, []],
  ['anything', z.object({ a: z.any(), b: z.unknown(), c: z.json() }), { a: { y: 1 }, b: { y: 1 }, c: { y: 1 } }, []],
  ['an intersection', z.intersection(Inner, z.object({ y: Inner })), { x: 1, y: { y: 1 }, z: 1 }, ['y.y', 'z']],
  [
    'an intersection of one field',
    z.intersection(z.object({ a: Inner }), z.object({ a: z.object({ y: z.number() }) })),
    { a: { x: 1, y: 1, z: 1 } },
    ['a.z'],
  ],
  [
    'an intersection with an open object',
    z.intersection(z.object({ a: Inner }), z.looseObject({})),
    { a: { y: 1 }, y: 1 },
    [],
  ],
  ['an intersection with anything', z.intersection(z.object({ a: Inner }), z.unknown()), { a: { y: 1 }, y: 1 }, []],
  ['a union with a text', z.union([z.string(), Inner]), { y: 1 }, ['y']],
  ['a union with lists', z.union([Inner, z.array(Inner)]), [{ y: 1 }], ['0.y']],
  ['a union of objects', z.union([Inner, z.object({ y: z.number() })]), { x: 1, y: 1, z: 1 }, ['z']],
  ['a union with a record', z.union([Inner, z.record(z.string(), z.number())]), { y: 1 }, []],
  ['a choice by name', Kinds, { kind: 'a', a: { y: 1 }, b: {} }, ['a.y', 'b']],
  ['another choice by name', Kinds, { kind: 'b', a: { y: 1 }, b: { y: 1 } }, ['b.y']],
  ['a choice that there is not', Kinds, { kind: 'c', a: {}, y: 1 }, []],
  ['a recursive object', Tree, { children: [{ children: [{ nam: 'x' }] }], y: 1 }, ['children.0.children.0.nam', 'y']],
  [
    'what another schema reads',
    z.array(Node),
    [
      { kind: 'a', data: { y: 1 }, z: 1 },
      { kind: 'b', data: { y: 1 } },
    ],
    ['0.data.y'],
  ],
  [
    'what another schema reads, with more said of it',
    Node.meta({ id: 'Node' }).refine(() => true),
    { kind: 'a', data: { y: 1 } },
    ['data.y'],
  ],
  [
    'a key like one of every object',
    Inner,
    JSON.parse('{"__proto__": {}, "constructor": 1, "toString": 1}'),
    ['__proto__', 'constructor', 'toString'],
  ],
  ['what is of another type', z.object({ a: z.string(), b: z.array(Inner) }), { a: { y: 1 }, b: { y: 1 } }, []],
  ['no object at all', Inner, 'y', []],
])('%s', (_name, schema, value, paths) => {
  const { fields, count } = findUnknownFields([schema], value);
  expect(fields.map(({ path }) => path.join('.'))).toEqual(paths);
  expect(count).toBe(paths.length);
});

test('suggests the field that may have been meant, unless it is present', () => {
  const schema = z.object({ params: z.number().optional(), sql: z.string().optional() });
  const messages = (value: unknown) => findUnknownFields([schema], value).fields.map(({ message }) => message);
  expect(messages({ parameters: 1 })).toEqual(['not known here; did you mean params?']);
  expect(messages({ parameters: 1, params: 1 })).toEqual(['not known here']);
  expect(messages({ something: 1 })).toEqual(['not known here']);
});

test('a key is known if one of several schemas reads it, and paths begin at the given one', () => {
  const schemas = [Inner, z.object({ z: z.number() })];
  expect(findUnknownFields(schemas, { x: 1, y: 1, z: 1 }, ['rows', 3]).fields.map(({ path }) => path)).toEqual([
    ['rows', 3, 'y'],
  ]);
});

test('lists the first ones and counts all', () => {
  const value = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`y${index}`, index]));
  const { fields, count } = findUnknownFields([Inner], value);
  expect(fields).toHaveLength(MAX_UNKNOWN_FIELDS);
  expect(count).toBe(1_000);
});

test('tells whether no key is known', () => {
  expect(knowsNoKey(Inner, { y: 1 })).toBe(true);
  expect(knowsNoKey(Inner.transform(String), { y: 1 })).toBe(true);
  expect(knowsNoKey(Inner, { x: 1, y: 1 })).toBe(false);
  expect(knowsNoKey(Inner, {})).toBe(false);
  expect(knowsNoKey(Inner, [1])).toBe(false);
  expect(knowsNoKey(Inner, 'y')).toBe(false);
  expect(knowsNoKey(z.looseObject({}), { y: 1 })).toBe(false);
  expect(knowsNoKey(z.record(z.string(), z.number()), { y: 1 })).toBe(false);
});

test('reads each value of a body once', () => {
  const schema = z.array(z.object({ in: Inner }));
  let reads = 0;
  const counted = (value: object): object =>
    new Proxy(value, {
      get(target, key, receiver) {
        reads += 1;
        const child: unknown = Reflect.get(target, key, receiver);
        return typeof child === 'object' && child !== null ? counted(child) : child;
      },
    });
  const readsOf = (length: number) => {
    reads = 0;
    const body = Array.from({ length }, (_, index) => counted({ in: { x: 1, [`y${index}`]: 1 }, z: 1 }));
    expect(findUnknownFields([schema], body).count).toBe(2 * length);
    return reads;
  };
  expect(readsOf(10_000)).toBe(10 * readsOf(1_000));
  expect(readsOf(1_000)).toBeLessThan(5_000);
});

/** Schemas of which zod's own answer tells what it has dropped: without transforms, and with no union of two objects. */
const { schema: anySchema } = fc.letrec<{ schema: z.ZodType }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(z.number(), z.string(), z.json(), z.record(z.string(), z.number())),
    object(tie('schema')).map((shape) => z.object(shape)),
    object(tie('schema')).map((shape) => z.looseObject(shape)),
    fc.tuple(object(tie('schema')), tie('schema')).map(([shape, rest]) => z.object(shape).catchall(rest)),
    tie('schema').map((schema) => z.array(schema)),
    tie('schema').map((schema) => schema.optional()),
    tie('schema').map((schema) => schema.nullable().readonly()),
    tie('schema').map((schema) => z.lazy(() => schema)),
    object(tie('schema')).map((shape) => z.union([z.string(), z.object(shape)])),
    fc
      .tuple(object(tie('schema')), object(tie('schema')))
      .map(([one, other]) =>
        z.discriminatedUnion('k', [
          z.object({ ...one, k: z.literal(1) }),
          z.looseObject({ ...other, k: z.literal(2) }),
        ]),
      ),
  ),
}));

function object(schema: fc.Arbitrary<z.ZodType>): fc.Arbitrary<Record<string, z.ZodType>> {
  return fc.dictionary(fc.constantFrom('a', 'b', 'c'), schema, { maxKeys: 3, noNullPrototype: true });
}

test('the unknown fields are those that zod drops', () => {
  const cases = anySchema.chain((schema) =>
    fc.tuple(fc.constant(schema), withExtraKeys(fromSchema(jsonSchemaOf(schema), {}))),
  );
  let found = 0;
  fc.assert(
    fc.property(cases, ([schema, value]) => {
      const parsed = schema.safeParse(value);
      // The key __proto__, which zod leaves out of every record, is not reported.
      if (!parsed.success || JSON.stringify(value).includes('"__proto__"')) return;
      const { fields } = findUnknownFields([schema], value);
      expect(fields.map(({ path }) => path.map(String))).toEqual(dropped(value, parsed.data));
      found += fields.length;
    }),
    { numRuns: 2_000 },
  );
  expect(found).toBeGreaterThan(200);
});

function dropped(value: unknown, unchanged: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const isUnchanged = Object.hasOwn(unchanged as object, key);
    return isUnchanged ? dropped(child, Reflect.get(unchanged as object, key), [...path, key]) : [[...path, key]];
  });
}

function withExtraKeys(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.tuple(values, fc.array(fc.nat(), { maxLength: 3 })).map(([value, places]) => {
    const copy = structuredClone(value);
    for (const at of places) {
      const objects = objectsIn(copy);
      const [chosen] = objects.slice(at % Math.max(objects.length, 1));
      if (chosen) chosen.extra = 1;
    }
    return copy;
  });
}

function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? inside : [value as Record<string, unknown>, ...inside];
}

function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as JsonSchema;
}

const bodies = routes.flatMap(({ method, path, body }) => (body ? [[`${method} ${path}`, body] as const] : []));

describe.each(bodies)('%s', (_name, body) => {
  const schema = jsonSchemaOf(body);
  const values = fromSchema(schema, (schema as { $defs?: Record<string, JsonSchema> }).$defs ?? {});

  test('drops only unknown fields', () => {
    fc.assert(
      fc.property(withExtraKeys(values), (value) => {
        const parsed = body.safeParse(value);
        const { fields } = findUnknownFields([body], value);
        for (const { path } of fields) expect(path.at(-1), path.join('.')).toBe('extra');
        if (!parsed.success) return;
        const without = structuredClone(value);
        for (const { path } of fields) removeAt(without, path);
        // The data of a node, and options, are stored whole; an item of a bulk is parsed later; all others lose these fields.
        if (!isWhole(fields)) expect(isDeepStrictEqual(body.parse(without), parsed.data)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

function isWhole(fields: readonly { path: (string | number)[] }[]): boolean {
  return fields.some(({ path }) => ['data', 'workflowOptions', 'items'].some((name) => path.includes(name)));
}

function removeAt(value: unknown, path: readonly (string | number)[]): void {
  const parent = path.slice(0, -1).reduce<unknown>((at, key) => Reflect.get(at as object, key), value);
  Reflect.deleteProperty(parent as object, path.at(-1) ?? '');
}
