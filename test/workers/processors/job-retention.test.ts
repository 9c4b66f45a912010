import { expect, test } from 'vitest';
import { createRetention } from '#workers/processors/job-retention.ts';

test('all jobs of a quiet queue are retained, and one a minute removes those that are old', () => {
  let now = 0;
  const decide = createRetention(() => now);

  const decided = Array.from({ length: 100 }, () => {
    now += 7_000;
    return decide();
  });

  expect(decided).not.toContain(true);
  expect(decided.filter((each) => typeof each === 'object').length).toBeGreaterThan(10);
  expect(decided[0]).toEqual({ count: 1000, age: 3600 });
});

test('a sample of a busy queue is retained, and cut to a number often enough', () => {
  let now = 0;
  const decide = createRetention(() => now);

  const decided = Array.from({ length: 60_000 }, () => {
    now += 1;
    return decide();
  });

  const retained = decided.filter((each) => each !== true);
  expect(retained.length).toBeGreaterThan(1_200);
  expect(retained.length).toBeLessThan(1_500);
  const untrimmed = decided.flatMap((each, at) => (typeof each === 'object' ? [at] : []));
  expect(untrimmed.length).toBeGreaterThanOrEqual(Math.floor(retained.length / 64));
  expect(untrimmed.length).toBeLessThan(retained.length / 32);
});
