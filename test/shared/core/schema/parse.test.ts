import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { parseValue, requireValue } from '#shared/core/schema/parse.ts';
import { secret } from '#shared/core/schema/secret.ts';

function messagesOf(schema: z.ZodType, value: unknown): string[] {
  const parsed = parseValue(schema, value);
  return parsed.success ? [] : parsed.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

/** The one message about a value. */
function messageOf(schema: z.ZodType, value: unknown): string {
  const messages = messagesOf(z.object({ v: schema }), value === undefined ? {} : { v: value });
  expect(messages).toHaveLength(1);
  return messages.join().replace(/^v: /, '');
}

const Port = NumberText(z.int().min(1).max(65_535));
const Choice = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('a'), n: z.int() }),
  z.object({ kind: z.literal('b') }),
]);
type Tree = { children: Tree[] };
const Tree: z.ZodType<Tree> = z.lazy(() => z.object({ children: z.array(Tree) }));

test.each<[z.ZodType, unknown, string]>([
  [z.string(), 5, 'expected a text, received 5'],
  [z.string(), undefined, 'expected a text, received nothing'],
  [z.string(), null, 'expected a text, received null'],
  [z.string().min(1), '', 'expected a text that is not empty, received ""'],
  [z.string().min(3), 'ab', 'expected a text of at least 3 characters, received "ab"'],
  [z.string().max(2), 'abc', 'expected a text of at most 2 characters, received "abc"'],
  [z.string().trim().min(1).max(255), '  ', 'expected a text of 1 to 255 characters, received "  "'],
  [z.string().length(1), 'ab', 'expected a text of 1 character, received "ab"'],
  [z.string().regex(/^[a-z]+$/), 'A', 'expected a text that matches /^[a-z]+$/, received "A"'],
  [z.string().startsWith('/a'), 'b', 'expected a text that begins with "/a", received "b"'],
  [z.string().endsWith('/a'), 'b', 'expected a text that ends with "/a", received "b"'],
  [z.string().includes('/a'), 'b', 'expected a text that contains "/a", received "b"'],
  [z.number(), 'abc', 'expected a number, received "abc"'],
  [z.number().min(0), -1, 'expected a number of at least 0, received -1'],
  [z.number().max(5), 6, 'expected a number of at most 5, received 6'],
  [z.number().positive(), 0, 'expected a number above 0, received 0'],
  [z.number().lt(5), 5, 'expected a number below 5, received 5'],
  [z.number().gt(0).lt(5), 9, 'expected a number above 0 and below 5, received 9'],
  [z.number().multipleOf(5), 11, 'expected a multiple of 5, received 11'],
  [z.int().min(1), 1.5, 'expected a whole number of at least 1, received 1.5'],
  [z.int(), 2 ** 60, 'expected a whole number within ±9007199254740991, received 1152921504606847000'],
  [Port, 'abc', 'expected a whole number from 1 to 65535, received "abc"'],
  [Port, '1.5', 'expected a whole number from 1 to 65535, received "1.5"'],
  [Port, '', 'expected a whole number from 1 to 65535, received ""'],
  [Port, '70000', 'expected a whole number from 1 to 65535, received "70000"'],
  [Port.default(1).optional(), 'x', 'expected a whole number from 1 to 65535, received "x"'],
  [Port, ['1', '2'], 'expected a whole number from 1 to 65535, received a list of 2 items'],
  [z.boolean(), 'yes', 'expected true or false, received "yes"'],
  [z.null(), 1, 'expected null, received 1'],
  [z.never(), 1, 'expected nothing, received 1'],
  [z.array(z.string()), 'a', 'expected a list, received "a"'],
  [z.array(z.string()).min(1), [], 'expected a list that is not empty, received a list of 0 items'],
  [z.array(z.string()).max(1), ['a', 'b'], 'expected a list of at most 1 item, received a list of 2 items'],
  [z.tuple([z.string(), z.string()]), ['a'], 'expected a list of 2 items, received a list of 1 item'],
  [z.object({}), [], 'expected an object, received a list of 0 items'],
  [z.looseObject({}), true, 'expected an object, received true'],
  [z.record(z.string(), z.string()), 'x', 'expected an object, received "x"'],
  [z.enum(['a', 'b']), 'c', 'expected one of "a", "b", received "c"'],
  [z.enum(['a', 'b']), { a: 1 }, 'expected one of "a", "b", received an object'],
  [z.literal('a'), 'c', 'expected "a", received "c"'],
  [z.literal(['a', 1]), 'c', 'expected one of "a", 1, received "c"'],
  [z.stringbool({ truthy: ['true'], falsy: ['false'] }), 'on', 'expected one of "true", "false", received "on"'],
  [z.uuid().toLowerCase(), 'x', 'expected an id (UUID), received "x"'],
  [z.email(), 'x', 'expected an email address, received "x"'],
  [
    z.email().max(8),
    'ada@example.com',
    'expected an email address of at most 8 characters, received "ada@example.com"',
  ],
  [z.url(), 'x', 'expected a URL, received "x"'],
  [z.url({ protocol: /^https$/ }), 'ftp://a', 'expected a URL, received "ftp://a"'],
  [z.hostname(), 'a b', 'expected a host name, received "a b"'],
  [z.iso.datetime(), '1 May', 'expected a date with a time such as 2030-01-31T12:00:00Z, received "1 May"'],
  [z.iso.date(), '1 May', 'expected a date such as 2030-01-31, received "1 May"'],
  [z.json(), undefined, 'expected a value, received nothing'],
  [z.unknown(), undefined, 'expected a value, received nothing'],
  [z.string().nullable(), 5, 'expected a text, received 5'],
  [z.string().nullish(), 5, 'expected a text, received 5'],
  [z.string().default('a').transform(Number), 5, 'expected a text, received 5'],
  [
    z
      .string()
      .toUpperCase()
      .pipe(z.enum(['A', 'B'])),
    'c',
    'expected one of "A", "B", received "c"',
  ],
  [z.preprocess((value) => value, z.string()), 5, 'expected a text, received 5'],
  [z.custom((value) => value === 1), 2, 'expected a value, received 2'],
  [z.string().refine((text) => text === 'a'), 'b', 'expected a text, received "b"'],
])('%s of %j: %s', (schema, value, message) => {
  expect(messageOf(schema, value)).toBe(message);
});

test.each<[string, z.ZodType, unknown, string[]]>([
  ['every choice', z.union([z.string(), z.int()]), true, ['v: expected a text or a whole number, received true']],
  ['literals', z.union([z.literal(0), z.literal(1)]), 5, ['v: expected one of 0, 1, received 5']],
  [
    'limits of the choices',
    z.union([z.string(), z.array(z.string()).max(1)]),
    ['a', 'b'],
    ['v: expected a text or a list of at most 1 item, received a list of 2 items'],
  ],
  [
    'the choice that was meant',
    z.union([z.string(), z.array(z.string())]),
    ['a', 5],
    ['v.1: expected a text, received 5'],
  ],
  [
    'the choice with fewest faults',
    z.union([z.object({ a: z.int(), b: z.int() }), z.object({ a: z.int(), c: z.int() })]),
    { a: 1, b: 'x', d: 1 },
    ['v.b: expected a whole number, received "x"'],
  ],
  [
    'a message of the choice that was meant',
    z.union([z.literal(''), z.url().refine((url) => !url.includes('?'), 'must not contain a ?')]),
    'http://a?b',
    ['v: must not contain a ?'],
  ],
  [
    'a choice in a choice',
    z.union([z.union([z.string(), z.number()]), z.array(z.union([z.string(), z.number()]))]),
    ['a', true],
    ['v.1: expected a text or a number, received true'],
  ],
  ['names of choices', Choice, { kind: 'c' }, ['v.kind: expected one of "a", "b", received "c"']],
  ['no name of a choice', Choice, {}, ['v.kind: expected one of "a", "b", received nothing']],
  ['the choice that is named', Choice, { kind: 'a', n: 'x' }, ['v.n: expected a whole number, received "x"']],
  ['no object', Choice, 5, ['v: expected an object, received 5']],
  ['lists in a tree', Tree, { children: [{ children: 1 }] }, ['v.children.0.children: expected a list, received 1']],
  [
    'keys and values of records',
    z.record(z.string().max(2), z.int()),
    { abc: 1, a: 'x' },
    ['v.abc: expected a key that is a text of at most 2 characters', 'v.a: expected a whole number, received "x"'],
  ],
  ['unknown fields', z.strictObject({}), { a: 1, b: 2 }, ['v: expected no field called "a" or "b"']],
  [
    'what a transform has made',
    z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(z.enum(['a', 'b']))),
    'a,c',
    ['v.1: expected one of "a", "b"'],
  ],
  [
    'both sides of an intersection',
    z.intersection(z.object({ a: z.int() }), z.object({ b: z.int() })),
    { a: 'x' },
    ['v.a: expected a whole number, received "x"', 'v.b: expected a whole number, received nothing'],
  ],
  ['a whole value', z.int(), 'x', ['v: expected a whole number, received "x"']],
])('%s', (_name, schema, value, messages) => {
  expect(messagesOf(z.object({ v: schema }), { v: value })).toEqual(messages);
});

test('keeps messages of the schema', () => {
  const Own = z.object({
    a: z.int({ error: 'must be a port' }),
    b: z.string().refine(() => false, 'must be free'),
    c: z.string().min(2, 'is too short'),
    d: z.union([z.int(), z.null()], { error: 'must be a number' }),
  });
  expect(messagesOf(Own, { a: 'x', b: '', c: '', d: '' })).toEqual([
    'a: must be a port',
    'b: must be free',
    'c: is too short',
    'd: must be a number',
  ]);
});

test('cuts a long text and keeps it well-formed', () => {
  expect(messageOf(z.int(), 'x'.repeat(51))).toBe(
    `expected a whole number, received "${'x'.repeat(50)}"… (51 characters)`,
  );
  expect(messageOf(z.int(), `${'x'.repeat(49)}💥${'x'.repeat(9)}`).isWellFormed()).toBe(true);
});

test('cuts a long list of choices', () => {
  const names = Array.from({ length: 61 }, (_name, index) => `n${index}`);
  expect(messageOf(z.enum(names), 'x')).toMatch(/"n59", … \(61 in all\), received "x"$/);
});

test('lists the first thousand issues only', () => {
  const messages = messagesOf(z.array(z.int()), Array(1_001).fill('x'));
  expect(messages[999]).toBe('999: expected a whole number, received "x"');
  expect(messages).toHaveLength(1_000);
});

describe('a message never repeats a secret', () => {
  const generated = 'b3Jc9fQ2xZ7kLmN4pR8sT1vW5yA6dE0g';

  test.each<[string, z.ZodType, unknown]>([
    ['a declared one', z.object({ own: secret(z.string().max(3)) }), { own: 'hunter2' }],
    ['a declared one, wrapped', z.object({ own: secret(z.string().max(3)).optional() }), { own: 'hunter2' }],
    ['in a declared object', z.object({ own: secret(z.record(z.string(), z.int())) }), { own: { a: 'hunter2' } }],
    [
      'in a choice',
      z.discriminatedUnion('k', [z.object({ k: z.literal(1), own: secret(z.int()) }), z.object({ k: z.literal(2) })]),
      { k: 1, own: 'hunter2' },
    ],
    ['in a list', z.object({ list: z.array(secret(z.int())) }), { list: ['hunter2'] }],
    ['by its name', z.object({ clientSecret: z.int() }), { clientSecret: 'hunter2' }],
    ['by its name, a number', z.object({ password: z.string() }), { password: 'hunter2'.length * 1e9 }],
    ['by the name of its list', z.object({ tokens: z.array(z.int()) }), { tokens: ['hunter2'] }],
    [
      'by the key beside it',
      z.object({ headers: z.array(z.object({ key: z.string(), value: z.int() })) }),
      { headers: [{ key: 'Authorization', value: 'hunter2' }] },
    ],
    ['in a URL', z.object({ host: z.hostname() }), { host: 'postgres://ada:hunter2@db/x' }],
    ['in a header', z.object({ host: z.int() }), { host: 'Bearer hunter2' }],
    ['in a connection string', z.object({ host: z.int() }), { host: 'host=db password=hunter2' }],
    ['a private key', z.object({ host: z.int() }), { host: '-----BEGIN PRIVATE KEY-----\nhunter2' }],
    ['a web token', z.object({ host: z.int() }), { host: 'eyJhunter2.eyJhunter2.x' }],
    ['a generated key', z.object({ host: z.int() }), { host: generated }],
    ['a generated key in hex', z.object({ host: z.int() }), { host: '0123456789abcdef'.repeat(4) }],
  ])('%s', (_name, schema, value) => {
    const messages = messagesOf(schema, value);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatch(/, received (?:a text|a number)$/);
  });

  test('but repeats an id and an ordinary text', () => {
    for (const text of [
      '0198c5a0-0000-7000-8000-00000000000g',
      'x'.repeat(50),
      'https://example.com/a/long/path/to/x1',
    ])
      expect(messageOf(z.int(), text)).toContain(JSON.stringify(text));
  });
});

test('returns a required value, or throws with its path', () => {
  expect(requireValue(Port, '80')).toBe(80);
  const parse = () => requireValue(z.object({ port: Port }), { port: 'abc' }, ['datasourceOptions']);
  expect(parse).toThrow(AppError);
  expect(parse).toThrow(
    expect.objectContaining({
      code: 'VALIDATION_ERROR',
      message: 'datasourceOptions.port: expected a whole number from 1 to 65535, received "abc"',
      details: {
        issues: [
          {
            path: ['datasourceOptions', 'port'],
            message: 'expected a whole number from 1 to 65535, received "abc"',
            type: 'invalid_type',
          },
        ],
      },
    }),
  );
});
