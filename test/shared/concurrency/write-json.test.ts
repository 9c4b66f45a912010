import { expect, test, vi } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { eventLoop } from '#shared/concurrency/event-loop-scheduler.ts';
import { composed, jsonOf, textOf, writeJSON, writeLargeParts, writing } from '#shared/concurrency/write-json.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { levelsIn } from '#shared/core/lossless-json.ts';
import { hostileValues } from '#test/support/hostile-bodies.ts';

const kinds = Object.entries(hostileValues).filter(([kind]) => kind !== 'too deep');

test.each(kinds)('%s are written as JSON.stringify writes them', (_kind, make) => {
  const value: Json = { a: JSON.parse(make(200_000)), b: [JSON.parse(make(50_000)), 'x'], '"': null };
  const steps = writing(value);
  let step = steps.next();
  while (!step.done) step = steps.next();

  expect(step.value === JSON.stringify(value)).toBe(true);
});

test('a large object is written with pauses, and once', async () => {
  const value: JsonObject = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key${n}`, n]));
  using yields = vi.spyOn(eventLoop, 'yield');
  const clock = vi.spyOn(performance, 'now');
  let ms = 0;
  clock.mockImplementation(() => (ms += 10));
  const text = await writeJSON(value);
  clock.mockRestore();

  expect(yields.mock.calls.length).toBeGreaterThan(50);
  using stringify = vi.spyOn(JSON, 'stringify');
  expect(textOf(value)).toBe(text);
  expect(stringify).not.toHaveBeenCalled();
});

test.each(kinds)('%s in values of several levels are written once, and put together', async (_kind, make) => {
  const large: Json = JSON.parse(make(400_000));
  const value: JsonObject = { a: large, b: { c: [large], d: large, none: undefined as never }, '"': 'x', e: [1, [2]] };
  const isLarge = await writeLargeParts(value);
  const deeper = { output: value, status: 'success' };
  const text = JSON.stringify(deeper);

  expect(jsonOf(deeper) === text).toBe(true);
  if (!isLarge) return expect(composed(deeper)).toBeUndefined();
  expect(composed(deeper)?.levels).toBe(runSync(levelsIn(text)));
  using stringify = vi.spyOn(JSON, 'stringify');
  jsonOf({ input: value });
  expect(Math.max(...stringify.mock.results.map(({ value: part }) => String(part).length))).toBeLessThan(250_000);
});

test('a long text is written in pieces of which none cuts a surrogate pair, wherever it lies in a value', async () => {
  const text = '\u0001"💥'.repeat(250_000);
  const other = 'x'.repeat(200_000);
  const value: JsonObject = { event: { body: `a${text}`, method: 'POST' }, one: other, two: other, list: [[text]] };
  const expected = JSON.stringify(value);
  {
    using stringify = vi.spyOn(JSON, 'stringify');
    expect((await writeJSON(value)) === expected).toBe(true);
    expect(await writeLargeParts(value)).toBe(true);
    expect(Math.max(...stringify.mock.results.map(({ value: part }) => String(part).length))).toBeLessThan(500_000);
  }
  using stringify = vi.spyOn(JSON, 'stringify');
  expect(jsonOf({ input: value }) === `{"input":${expected}}`).toBe(true);
  expect(stringify.mock.calls).toEqual([['input']]);
});

test('the levels of JSON are counted, also by pieces', () => {
  const nested = `${'['.repeat(150)}"[[[\\"{{{",{"a":{"b":${'[]'}}}${']'.repeat(150)}`;
  expect([1, '"[["', '[]', '{"a":[{}]}', nested].map((text) => runSync(levelsIn(String(text))))).toEqual([
    0, 0, 1, 3, 153,
  ]);
  expect(runSync(levelsIn(`["${'x'.repeat(500_000)}",[[]]]`))).toBe(3);
});
