import { expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { DatabaseFilterObject, isEmptyFilter, readFilter } from '#shared/datasources/tenant-database/filter.ts';

const one: JsonObject = { id: { '=': 1 } };

test.each<JsonObject>([
  {},
  { AND: [{}] },
  { OR: [{}] },
  { OR: [one, {}] },
  { OR: [one, { NOT: {} }] },
  { NOT: {} },
  { NOT: { NOT: {} } },
  { NOT: { NOT: { NOT: {} } } },
  { NOT: { OR: [{}] } },
  { NOT: { AND: [{ NOT: {} }] } },
  { NOT: { AND: [one, { NOT: {} }] } },
  { NOT: { NOT: { OR: [one, {}] } } },
  { AND: [{ OR: [{ NOT: { NOT: {} } }] }, { NOT: { NOT: {} } }] },
])('%j matches every row', (filter) => {
  expect(DatabaseFilterObject.safeParse(filter).success).toBe(true);
  expect(isEmptyFilter(filter)).toBe(true);
});

test.each<JsonObject>([
  one,
  { NOT: one },
  { NOT: { NOT: one } },
  { AND: [{}, one] },
  { OR: [one, { word: { 'IS NULL': true } }] },
  { NOT: { OR: [one, {}] } },
  { NOT: { AND: [one, { word: { '=': 'a' } }] } },
  { NOT: { NOT: {} }, ...one },
])('%j excludes rows', (filter) => {
  expect(isEmptyFilter(filter)).toBe(false);
});

test('a column may be called __proto__', () => {
  const filter = DatabaseFilterObject.parse(JSON.parse('{"__proto__": {"=": 1}}'));

  expect(isEmptyFilter(filter)).toBe(false);
  expect(readFilter(filter)).toEqual({
    all: [{ all: [{ column: '__proto__', operator: '=', value: 1, path: ['__proto__', '='] }] }],
  });
});

test.each([['"id = 1"'], ['["id"]'], ['null'], ['1']])('%s is not a filter', (text) => {
  expect(DatabaseFilterObject.safeParse(JSON.parse(text)).error?.issues).toMatchObject([
    { message: expect.stringContaining('must be a filter') },
  ]);
});

test.each([
  ['conditions', { id: { '=': 1 } }, 500],
  ['objects', {}, 5_000],
])('of a list of very many %s the first are read, and the rest is refused unread', (what, part, limit) => {
  const parts = (count: number) => Array.from({ length: count }, () => part);
  const many: object[] = parts(2 * limit);
  Object.defineProperty(many, limit + 10, { get: () => expect.unreachable() });

  const { error } = DatabaseFilterObject.safeParse({ OR: many });

  expect(error?.issues[0]?.message).toBe(`must be one of at most ${limit} ${what}`);
  expect(DatabaseFilterObject.safeParse({ OR: parts(limit - 1) }).success).toBe(true);
});
