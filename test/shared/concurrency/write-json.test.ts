import { expect, test, vi } from 'vitest';
import { eventLoop } from '#shared/concurrency/event-loop-scheduler.ts';
import { textOf, writeJSON, writing } from '#shared/concurrency/write-json.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
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
