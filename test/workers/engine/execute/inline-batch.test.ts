import { expect, test } from 'vitest';
import { InlineBatch } from '#workers/engine/execute/inline-batch.ts';

test.each([
  ['200 frames', { frames: 199, length: 1, ms: 0 }, { length: 1, ms: 0 }],
  ['more than a megabyte', { frames: 2, length: 500_000, ms: 0 }, { length: 1, ms: 0 }],
  ['more than 5 ms', { frames: 3, length: 1, ms: 5 }, { length: 1, ms: 1 }],
])('%s do not share a commit, any less do', (_, before, last) => {
  let now = 1_000;
  const batch = new InlineBatch(0, () => now);

  for (let added = 0; added < before.frames; added += 1) batch.add(before.length);
  now += before.ms;
  expect(batch.isFull).toBe(false);

  batch.add(last.length);
  now += last.ms;
  expect(batch.isFull).toBe(true);
});

test('after an outcome of more than a megabyte nothing shares its commit', () => {
  expect(new InlineBatch(1_000_000).isFull).toBe(false);
  expect(new InlineBatch(1_000_001).isFull).toBe(true);
});
