import { describe, expect, test, vi } from 'vitest';
import { describeSyntax } from '#api/http/request/client-error.ts';
import { parseStorable } from '#shared/concurrency/parse-storable.ts';
import { parseInPieces } from '#shared/core/parse-in-pieces.ts';
import { hostileValues } from '#test/support/hostile-bodies.ts';

const LONG = 450_000;
const list = (unit: string, length = LONG) => `[${`${unit},`.repeat(length / (unit.length + 1))}${unit}]`;

function parse(text: string): { value: unknown; steps: number } {
  const parsing = parseInPieces(text);
  for (let steps = 1; ; steps += 1) {
    const step = parsing.next();
    if (step.done) return { value: step.value, steps };
  }
}

describe('a long text', () => {
  const kinds = Object.entries(hostileValues).filter(([kind]) => kind !== 'too deep');

  test.each(kinds)('of %s has the value that JSON.parse reads, in many steps', (_kind, make) => {
    const text = ` {"a":${make(LONG)} , "b" : [1,${make(LONG / 2)},{"c":${make(LONG / 3)}}]}\n`;

    const { value, steps } = parse(text);

    expect(JSON.stringify(value) === JSON.stringify(JSON.parse(text))).toBe(true);
    expect(steps).toBeGreaterThan(4);
  });

  test('that is one string takes as many steps', () => {
    const { value, steps } = parse(`{"a":"${'\\\\\\"'.repeat(LONG / 2)}"}`);

    expect(JSON.stringify(value).length).toBeGreaterThan(LONG);
    expect(steps).toBeGreaterThan(8);
  });

  test('keeps the last of two fields of one name, and `__proto__` as an own field', async () => {
    const text = `{"a":1,"b":${list('1')},"a":2,"__proto__":${list('2')},"c":{"\\u005f_proto__":{"x":1},"d":3},"e":${list('4')},"__proto__":5}`;

    const { value } = (await parseStorable(text)) as { value: Record<string, unknown> };

    expect(Object.keys(value)).toEqual(['a', 'b', '__proto__', 'c', 'e']);
    expect([value.a, Object.getPrototypeOf(value) === Object.prototype]).toEqual([2, true]);
    expect(JSON.stringify(parse(text).value) === JSON.stringify(JSON.parse(text))).toBe(true);
  });
});

test.each([
  ['after the end', `${list('1')} x`],
  ['a comma at the end', `[${'1,'.repeat(LONG / 2)}]`],
  ['nothing between commas', `[${list('1')},${' '.repeat(LONG)},1]`],
  ['nothing after a comma of a large value', `[1,${list('1')},,2]`],
  ['no comma after a large value', `{"a":${list('1')} "b":2}`],
  ['no colon', `{"a" ${list('1')}}`],
  ['no key', `{"a":1,${list('1')}}`],
  ['a key in a list', `[1,"a":${list('1')}]`],
  ['another bracket', `{"a":[${'1,'.repeat(LONG / 2)}1}}`],
  ['a bracket too many', `${list('1')}]`],
  ['a wrong number', `[${'1,\n'.repeat(LONG / 3)}01]`],
])('an error is named by its place: %s', (_what, text) => {
  const describeFault = (read: () => unknown) => {
    try {
      return read();
    } catch (error) {
      return describeSyntax(error as SyntaxError);
    }
  };

  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  expect(describeFault(() => parse(text))).toMatch(/error at position \d+ \(line \d+ column \d+\)$/);
});

test('a text that ends too early is said to', () => {
  expect(() => parse(`{"a":${list('1')}`)).toThrow(/^Unexpected end/);
});

test('of a body, what cannot be stored is named by its path', async () => {
  const half = '"\\ud800"';
  const message = 'must not contain the character NUL or half of a surrogate pair';
  const faultOf = async (text: string) => (await parseStorable(text)).unstorable;

  expect(await faultOf(`{"a":[${list('1')},{"b":[${'1,'.repeat(LONG / 2)}${half}]}]}`)).toEqual({
    path: ['a', '1', 'b', String(LONG / 2)],
    message,
  });
  expect(await faultOf(`{"a":${list('1')},"b\\u0000":1}`)).toEqual({ path: ['b\0'], message });
  expect(await faultOf(`{"a":${list('"\\u00e4"')}}`)).toBeNull();
  const levels = (count: number) => `${'['.repeat(count)}${list('1')}${']'.repeat(count)}`;
  expect(await faultOf(levels(199))).toBeNull();
  expect((await faultOf(levels(200)))?.message).toBe('must not be nested deeper than 200 levels');
  expect((await faultOf('['.repeat(LONG)))?.message).toBe('must not be nested deeper than 200 levels');
});

describe('a body is refused before it is parsed', () => {
  const keysOf = (count: number) => Array.from({ length: count }, (_, n) => `"k${n}":{}`).join(',');
  const faultOf = async (text: string, maxParts?: number) => {
    using parsing = vi.spyOn(JSON, 'parse');
    const { unstorable } = await parseStorable(text, { maxParts });
    return { unstorable, parsed: Math.max(0, ...parsing.mock.calls.map(([part]) => part.length)) };
  };

  test('with more keys in one object than allowed, which is named by its path', async () => {
    const text = `{"a":{},"b \\"":[1,{"x":{}, "c":{${keysOf(50_001)}}}]}`;

    const { unstorable, parsed } = await faultOf(text);

    expect(unstorable?.path).toEqual(['b "', '1', 'c']);
    expect(unstorable?.message).toMatch(/^must not have more than 50,000 keys in one object/);
    expect(parsed).toBeLessThan(20);
  });

  test('but not with as many keys as allowed in each of several', async () => {
    expect((await faultOf(`[{${keysOf(50_000)}},{${keysOf(50_000)}}]`)).unstorable).toBeNull();
  });

  test('with more values than allowed, and not for a list of data', async () => {
    const text = `{"a":${list('{}')}}`;

    const { unstorable, parsed } = await faultOf(text, 10_000);

    expect(unstorable).toMatchObject({ path: [], message: expect.stringMatching(/^must not have more than/) });
    expect(parsed).toBe(0);
    expect((await faultOf(text)).unstorable).toBeNull();
  });
});
