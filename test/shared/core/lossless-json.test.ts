import { describe, expect, test, vi } from 'vitest';
import { isExact } from '#shared/core/exact-number.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { isDeeper, LossyNumber, parseExact, readJSON, TooDeep } from '#shared/core/lossless-json.ts';
import { readBody } from '#workers/datasources/http/body.ts';
import { outputText } from '#workers/engine/values/outputs.ts';
import { maskOutput } from '#workers/nodes/mask.ts';

describe('readJSON', () => {
  test.each([
    '{"a":1234,"b":[1234567890123456789,-0.1234567890123456789e+6, 1234 ],"1234567890123456":"1234567890123456"}',
    '"1234567890123456\\"1234567890123456"',
    '["\\\\", 12345678901234567, "\\\\\\"]1234", 1]',
    '1234567890123456789',
    ' 12345678901234567.5\n',
    '[1.10, 1e400, -1E-400, 12345678901234567890.50, 100000000000000000e-17, 0.30000000000000004]',
    '[]',
  ])('makes texts of the numbers of %s that a double does not hold', (text) => {
    const asText = (_key: string, value: unknown, { source = '' }: { source?: string }) =>
      typeof value === 'number' && !isExact(source) ? source : value;

    // TypeScript's declarations lack the third argument.
    expect(readJSON(text)).toEqual(JSON.parse(text, asText as (key: string, value: unknown) => unknown));
  });

  test.each([
    '[01234567890123456789]',
    '{12345678901234567:1}',
    '[12345678901234567-]',
    '[12345678901234567 1]',
    '[.12345678901234567]',
    '12345678901234567 x',
    '["12345678901234567',
    '[1',
  ])('refuses %s, which is not JSON', (text) => {
    expect(() => readJSON(text)).toThrow(SyntaxError);
  });

  test('refuses more levels than are allowed, however they are written', () => {
    expect(readJSON('[[[[["[[[[[[", 1]]]]]', 5)).toEqual([[[[['[[[[[[', 1]]]]]);
    expect(() => readJSON('[[[[[{}]]]]]', 5)).toThrow(TooDeep);
    expect(() => readJSON('{"a":{"a":{"a":{"a":{"a":{"a":1}}}}}}', 5)).toThrow(TooDeep);
    expect([isDeeper('[[[[[[]]]]]]', 5), isDeeper('[[[[[]]]]]', 5), isDeeper('[[],[],[],[],[],[]]', 5)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

test.each([
  ['{"a":[1,{"the \\"key\\"":12345678901234567890.5}]}', 'the "key": 12345678901234567890.5 is more than'],
  ['[0,[1],1e400]', '2: 1e400 is more than'],
  ['12345678901234567890', '12345678901234567890 is more than'],
  [`[${'1'.repeat(1_000)}]`, `0: ${'1'.repeat(60)}… is more than`],
])('parseExact refuses a number of %s by its key', (text, message) => {
  expect(() => parseExact(text)).toThrow(LossyNumber);
  expect(() => parseExact(text)).toThrow(message);
});

describe('an answer of a server', () => {
  const keys = (count: number, more = '') =>
    `{${more}${Array.from({ length: count }, (_, at) => `"k${at}":${at}`).join(',')}}`;
  const list = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join(',')}]`;
  const answer = (text: string) => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(text),
    url: new URL('http://127.0.0.1/'),
  });

  test.each([
    ['a million levels', `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`],
    ['a million levels of objects', `${'{"a":'.repeat(1_000_000)}1${'}'.repeat(1_000_000)}`],
    ['a million levels around a long number', `${'['.repeat(1_000_000)}12345678901234567890${']'.repeat(1_000_000)}`],
  ])('with %s is refused before it is parsed', async (_what, text) => {
    using parse = vi.spyOn(JSON, 'parse');

    await expect(readBody(answer(text))).rejects.toThrow(/nested deeper than 500 levels/);
    expect(parse).not.toHaveBeenCalled();
  });

  test.each([
    ['100,000 keys', keys(100_000)],
    ['100,000 keys and a long number', keys(100_000, '"long":12345678901234567890,')],
    ['long numbers', list(100_000, '12345678901234567')],
    ['empty objects', list(500_000, '{}')],
    ['escapes', list(180_000, '"\\u0001"')],
  ])('with %s is read, masked and written', async (_what, text) => {
    using parse = vi.spyOn(JSON, 'parse');
    const output = { answer: await readBody(answer(text)) };
    const pieces = parse.mock.calls.map(([piece]) => piece.length);

    expect(Math.max(...pieces)).toBeLessThan(200_000);

    expect(outputText(maskOutput(output, ['secret']), 50_000_000).length).toBeGreaterThan(text.length);
  });
});

test.each([
  ['\u0000', 'NUL'],
  ['\\\u0000', 'NUL'],
  ['a\ud800', 'surrogate'],
])('an output with %j is refused', (text, what) => {
  const outputs: JsonObject[] = [{ text }, { [text]: 1 }, { list: ['\\u0000', text] }];
  for (const output of outputs) expect(() => outputText(output, 1_000)).toThrow(what);
});

test.each(['\\u0000', '\\\\u0000', '\\ud800', '💥', '\u001f'])('an output with %j is not', (text) => {
  expect(JSON.parse(outputText({ text }, 1_000))).toEqual({ text });
});
