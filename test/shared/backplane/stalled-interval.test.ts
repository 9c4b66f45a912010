import { expect, test } from 'vitest';
import { stalledInterval } from '#shared/backplane/types.ts';

test.each([1_000, 8_000, 10_001, 30_000])(
  'with a lease of %i ms it is a whole number of at least a second',
  (leaseMs) => {
    const interval = stalledInterval(leaseMs);
    expect(Number.isInteger(interval)).toBe(true);
    expect(interval).toBeGreaterThanOrEqual(1_000);
    expect(interval).toBeLessThanOrEqual(Math.max(1_000, leaseMs / 2));
  },
);
