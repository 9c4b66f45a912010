import { expect, test } from 'vitest';
import { interleaveTenants } from '#workers/triggers/cron/tenant-order.ts';

test('tenants are interleaved in the order of what was found, beginning with any of them', () => {
  const found = ['a1', 'a2', 'a3', 'b1', 'c1', 'c2'].map((id) => ({ id, tenantID: id.slice(0, 1) }));

  expect(interleaveTenants(found, () => 0)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  expect(interleaveTenants(found, () => 0.99)).toEqual(['c1', 'a1', 'b1', 'c2', 'a2', 'a3']);
  expect(interleaveTenants([], () => 0)).toEqual([]);
});
