import { afterEach, expect, test, vi } from 'vitest';
import { newID } from '#shared/core/ids.ts';

afterEach(() => void vi.useRealTimers());

function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

test('ids sort by their order of creation, also while the clock stands still or goes back a little', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const ids: string[] = [];
  for (let n = 0; n < 10_000; n += 1) {
    if (n === 5_000) vi.setSystemTime(Date.now() - 5_000);
    ids.push(newID());
  }

  expect([...ids].sort()).toEqual(ids);
});

test('ids follow a clock that was set back', () => {
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now: now + 86_400_000 });
  expect(timeOf(newID())).toBe(now + 86_400_000);

  vi.setSystemTime(now);
  expect(timeOf(newID())).toBe(now);
});
