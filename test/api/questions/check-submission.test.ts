import { describe, expect, test } from 'vitest';
import { checkSubmission } from '#api/questions/check-submission.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';

const listOf = (items: JsonObject): JsonObject => ({
  fields: [],
  formSchema: { type: 'object', properties: { a: { type: 'array', items } } },
});

function treeOf(keyword: 'anyOf' | 'allOf', leaf: JsonObject, levels: number): JsonObject {
  return levels === 0 ? leaf : { [keyword]: Array(2).fill(treeOf(keyword, leaf, levels - 1)) };
}

describe('an answer that would be checked against very many schemas', () => {
  test.each<[what: string, items: JsonObject, value: Json]>([
    ['of a list of choices', { anyOf: [...Array(4_000).fill({ type: 'string' }), { type: 'number' }] }, 1],
    ['of nested choices', treeOf('anyOf', { type: 'number' }, 10), 1],
    ['that all apply', treeOf('allOf', { type: 'object', properties: { x: { type: 'number' } } }, 10), { x: 1 }],
  ])('%s is refused', (_what, items, value) => {
    const form = listOf(items);
    const answer: JsonObject = { a: Array(50_000).fill(value) };

    expect(() => checkSubmission(form, answer)).toThrow(/has at most \d+ values/);
    expect(checkSubmission(form, { a: [value] })).toEqual({ a: [value] });
  });

  test('is checked if the schemas are few', () => {
    const items = { anyOf: [{ type: 'string' }, { type: 'number' }] };
    const a = Array.from({ length: 10_000 }, (_, n) => (n % 2 === 0 ? n : String(n)));

    expect(checkSubmission(listOf(items), { a })).toEqual({ a });
  });
});

test('the digits of a number survive that a double does not hold', () => {
  const form = { fields: [{ key: 'a', fieldType: 'number' }] };

  for (const a of ['12345678901234567890.5', '9007199254740993', '1e-400'])
    expect(checkSubmission(form, { a })).toEqual({ a });
  expect(checkSubmission(form, { a: ' 12.50 ' })).toEqual({ a: 12.5 });
  expect(() => checkSubmission(form, { a: '1e400' })).toThrow('expected a number');
});

test('a key that schemas of objects leave out is refused by its name, and kept where no schema looks', () => {
  const form = { fields: [], formSchema: { type: 'object', properties: { a: { type: 'object' }, any: {} } } };
  const refused: [string, string][] = [
    ['{"__proto__":1}', 'submittedData.__proto__: this name cannot be used in forms'],
    ['{"a":{"b":[{"__proto__":1}],"__proto__":2}}', 'submittedData.a.__proto__: this name cannot be used in forms'],
  ];
  for (const [text, message] of refused) expect(() => checkSubmission(form, JSON.parse(text))).toThrow(message);
  for (const text of ['{"any":{"__proto__":1}}', '{"a":{"b":[{"__proto__":1}]}}'])
    expect(JSON.stringify(checkSubmission(form, JSON.parse(text)))).toBe(text);
  expect(JSON.stringify(checkSubmission({ fields: [] }, JSON.parse('{"__proto__":1}')))).toBe('{"__proto__":1}');
});
