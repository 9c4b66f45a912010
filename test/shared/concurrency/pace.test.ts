import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createPace } from '#shared/concurrency/pace.ts';

test('a few deliveries go on in each turn of the event loop, of tenants in turn', async () => {
  const pace = createPace(10);
  const gone: string[] = [];
  const enter = (tenantID: string, count: number) =>
    Array.from({ length: count }, () => pace(tenantID).then(() => gone.push(tenantID)));
  const many = enter('many', 100);
  await nextTurn();
  const before = gone.length;
  expect(before).toBeLessThan(100);

  await Promise.all(enter('few', 3));

  const since = gone.slice(before);
  expect(since.filter((tenantID) => tenantID === 'many').length).toBeLessThanOrEqual(20);
  await Promise.all(many);
  expect(gone).toHaveLength(103);
  // None waits where no others do, also after such a burst.
  await nextTurn();
  await nextTurn();
  await Promise.all(enter('few', 10));
});
