import { expect, test } from 'vitest';
import { createFairBatcher } from '#shared/concurrency/batcher.ts';

test('a batch is limited in bytes, and tenants take turns in it', async () => {
  const batches: string[][] = [];
  const call = createFairBatcher(
    async (items: string[]) => {
      batches.push(items);
      if (items.includes('bad')) throw new Error('refused');
      return items.map((item) => item.toUpperCase());
    },
    { maxBytes: 250, isItemError: () => true },
  );
  const ofA = ['a1', 'a2', 'a3', 'bad'].map((item) => call(item, { flow: { tenantID: 'A' }, bytes: 100 }));
  const ofB = ['b1', 'b2'].map((item) => call(item, { flow: { tenantID: 'B' }, bytes: 100 }));
  const larger = call('larger', { flow: { tenantID: 'C' }, bytes: 300 });

  const settled = await Promise.allSettled([...ofA, ...ofB, larger]);

  expect(batches).toEqual([['a1', 'b1'], ['larger'], ['a2', 'b2'], ['a3', 'bad'], ['a3'], ['bad']]);
  expect(settled.map((one) => (one.status === 'fulfilled' ? one.value : one.status))).toEqual([
    'A1',
    'A2',
    'A3',
    'rejected',
    'B1',
    'B2',
    'LARGER',
  ]);
});
