import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import { createKeyedSemaphores, createSemaphore, IN_ORDER } from '#shared/concurrency/semaphore.ts';
import { flowOf, Permit } from '#shared/concurrency/work-context.ts';

/** Begins to wait, and records the name when a permit is granted. */
function waitIn(semaphore: ReturnType<typeof createSemaphore>, given: string[], name: string, flow: FlowKey): void {
  void semaphore.acquire(flow).then((isAcquired) => isAcquired && given.push(name));
}

test('a released permit goes to the next in the fair queue', async () => {
  const semaphore = createSemaphore({ permits: 1 });
  const given: string[] = [];
  const ann = (tenantID: string) => ({ tenantID, creatorID: 'ann' });
  expect(semaphore.tryAcquire(ann('a1'))).toBe(true);
  waitIn(semaphore, given, 'a1', ann('a1'));
  waitIn(semaphore, given, 'a2', ann('a2'));
  waitIn(semaphore, given, 'b', { tenantID: 'b', creatorID: 'bob' });

  semaphore.release(ann('a1'));
  semaphore.release(ann('a1'));
  semaphore.release({ tenantID: 'b' });
  await nextTick();

  expect(given).toEqual(['a1', 'b', 'a2']);
  expect(semaphore.used).toBe(1);
});

test('the reserve is for short work, which may also get any other permit', () => {
  const semaphore = createSemaphore({ permits: 3, permitsForShort: 1 });
  const long = { tenantID: 'a' };
  const short = { tenantID: 'b', isShort: true };

  expect([semaphore.tryAcquire(long), semaphore.tryAcquire(long), semaphore.tryAcquire(long)]).toEqual([
    true,
    true,
    false,
  ]);
  expect([semaphore.tryAcquire(short), semaphore.tryAcquire(short)]).toEqual([true, false]);
  semaphore.release(long);
  expect(semaphore.tryAcquire(short)).toBe(true);
});

test('waiting long work does not keep short work of the same tenant out of the reserve', async () => {
  const semaphore = createSemaphore({ permits: 2, permitsForShort: 1 });
  const given: string[] = [];
  semaphore.tryAcquire({ tenantID: 'a' });
  waitIn(semaphore, given, 'long', { tenantID: 'a' });
  waitIn(semaphore, given, 'short', { tenantID: 'a', isShort: true });

  await nextTick();

  expect(given).toEqual(['short']);
  semaphore.release({ tenantID: 'a' });
  await nextTick();
  expect(given).toEqual(['short', 'long']);
});

test('a tenant has at most `maxPerTenant` permits, and others overtake it', async () => {
  const semaphore = createSemaphore({ permits: 3, maxPerTenant: 2 });
  const given: string[] = [];
  semaphore.tryAcquire({ tenantID: 'a' });
  semaphore.tryAcquire({ tenantID: 'a' });
  waitIn(semaphore, given, 'a', { tenantID: 'a' });
  waitIn(semaphore, given, 'b', { tenantID: 'b' });

  await nextTick();

  expect(given).toEqual(['b']);
  semaphore.release({ tenantID: 'a' });
  await nextTick();
  expect(given).toEqual(['b', 'a']);
});

test('an aborted wait leaves no permit acquired, and an aborted signal does not wait at all', async () => {
  const semaphore = createSemaphore({ permits: 1 });
  const release = await semaphore.acquirePermit(IN_ORDER);
  const timeout = new AbortController();
  const waiting = semaphore.acquirePermit(IN_ORDER, timeout.signal);
  expect(semaphore.waiting).toBe(1);

  timeout.abort();

  expect(await waiting).toBeUndefined();
  expect(await semaphore.acquirePermit(IN_ORDER, AbortSignal.abort())).toBeUndefined();
  expect(semaphore.waiting).toBe(0);
  release?.();
  release?.();
  expect(semaphore.used).toBe(0);
  expect(semaphore.tryAcquire(IN_ORDER)).toBe(true);
  expect(semaphore.tryAcquire(IN_ORDER)).toBe(false);
});

test('a long queue refuses, by default with RATE_LIMITED', async () => {
  const semaphore = createSemaphore({ permits: 1, maxWaiting: 1 });
  semaphore.tryAcquire(IN_ORDER);
  void semaphore.acquire(IN_ORDER);

  await expect(semaphore.acquirePermit(IN_ORDER)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await expect(semaphore.run(IN_ORDER, async () => 'done')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  expect(semaphore.used).toBe(1);
});

test('work that fails releases its permit', async () => {
  const semaphore = createSemaphore({ permits: 1 });

  await expect(semaphore.run(IN_ORDER, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');

  expect(semaphore.used).toBe(0);
});

test('semaphores of different keys have separate permits, and one key is one semaphore while in use', async () => {
  const semaphores = createKeyedSemaphores({ maxWaitingPerPermit: 1 });
  const signal = new AbortController().signal;
  const first = await semaphores.acquirePermit({ key: 'a', permits: 1 }, IN_ORDER, signal);
  const second = semaphores.acquirePermit({ key: 'a', permits: 1 }, IN_ORDER, signal);
  await expect(semaphores.acquirePermit({ key: 'a', permits: 1 }, IN_ORDER, signal)).rejects.toMatchObject({
    code: 'RATE_LIMITED',
  });
  const other = await semaphores.acquirePermit({ key: 'b', permits: 1 }, IN_ORDER, signal);
  expect(other).toBeDefined();

  first?.();

  expect(await second).toBeDefined();
  await expect(
    Promise.race([semaphores.acquirePermit({ key: 'a', permits: 1 }, IN_ORDER, signal), nextTick('still waiting')]),
  ).resolves.toBe('still waiting');
});

test('a creator has as many permits as are free, so that a later one finds a permit', () => {
  const semaphore = createSemaphore({ permits: 8, dynamicLimit: 1 });
  const takeAll = (creatorID: string) => {
    let taken = 0;
    while (taken < 8 && semaphore.tryAcquire({ tenantID: `${creatorID}${taken}`, creatorID })) taken += 1;
    return taken;
  };

  expect(takeAll('ann')).toBe(4);
  expect(takeAll('bob')).toBe(2);
  expect(takeAll('cat')).toBe(1);
  expect(takeAll('dan')).toBe(1);
  expect(takeAll('eve')).toBe(0);
});

test('work waits for a permit if it would get it', async () => {
  const semaphore = createSemaphore({ permits: 4, dynamicLimit: 1 });
  const [ann, bob] = [
    { tenantID: 'a', creatorID: 'ann' },
    { tenantID: 'b', creatorID: 'bob' },
  ];
  for (const flow of [ann, ann, bob]) expect(semaphore.tryAcquire(flow)).toBe(true);
  expect([semaphore.hasWaiterFor([ann]), semaphore.canAcquire(ann), semaphore.canAcquire(bob)]).toEqual([
    false,
    false,
    false,
  ]);
  waitIn(semaphore, [], 'ann', ann);
  await nextTick();

  // With the permit of bob free, ann has reached her limit; with one of her own free, she has not.
  expect([semaphore.hasWaiterFor([bob]), semaphore.hasWaiterFor([ann]), semaphore.hasWaiterFor([ann, bob])]).toEqual([
    false,
    true,
    true,
  ]);
  expect([semaphore.canAcquire(ann, [bob]), semaphore.canAcquire(ann, [ann])]).toEqual([false, true]);
  expect([semaphore.used, semaphore.waiting]).toEqual([3, 1]);
});

test('the share of a creator who waits grows as others leave', async () => {
  const semaphore = createSemaphore({ permits: 4, dynamicLimit: 1 });
  const given: string[] = [];
  const bob = { tenantID: 'b', creatorID: 'bob' };
  for (const tenantID of ['a1', 'a2']) expect(semaphore.tryAcquire({ tenantID, creatorID: 'ann' })).toBe(true);
  expect(semaphore.tryAcquire(bob)).toBe(true);
  waitIn(semaphore, given, 'bob', bob);
  await nextTick();
  expect(given).toEqual([]);

  semaphore.release({ tenantID: 'a1', creatorID: 'ann' });
  await nextTick();

  expect(given).toEqual(['bob']);
});

describe('a permit', () => {
  const ann = { tenantID: 'a', creatorID: 'ann' };
  const bob = { tenantID: 'b', creatorID: 'bob' };

  function semaphoreWithPermit() {
    const outer = createSemaphore({ permits: 1 });
    const inner = createSemaphore({ permits: 1 });
    outer.tryAcquire(ann);
    inner.tryAcquire(bob);
    return { outer, inner, permit: new Permit(outer, ann) };
  }

  test('is released while its work waits for another semaphore, and acquired again before it goes on', async () => {
    const { outer, inner, permit } = semaphoreWithPermit();
    const waiting = permit.run(() => inner.acquirePermit(ann));
    expect(outer.tryAcquire(bob)).toBe(true);
    inner.release(bob);
    await nextTick();
    expect([outer.used, inner.used]).toEqual([1, 1]);
    await expect(Promise.race([waiting, nextTick('not yet')])).resolves.toBe('not yet');

    outer.release(bob);
    (await waiting)?.();
    expect(outer.used).toBe(1);
    permit[Symbol.dispose]();

    expect([outer.used, inner.used]).toEqual([0, 0]);
  });

  test('is not taken again by work whose wait was aborted', async () => {
    const { outer, inner, permit } = semaphoreWithPermit();
    const timeout = new AbortController();
    const waiting = permit.run(() => inner.acquirePermit(ann, timeout.signal));
    outer.tryAcquire(bob);
    timeout.abort();

    expect(await waiting).toBeUndefined();
    permit[Symbol.dispose]();
    expect(outer.used).toBe(1);
  });

  test('is left alone by what outlives its work', async () => {
    const { outer, inner, permit } = semaphoreWithPermit();
    const later = permit.run(() => nextTick().then(() => inner.acquirePermit(ann)));
    permit[Symbol.dispose]();
    expect(outer.used).toBe(0);

    await nextTick();
    inner.release(bob);
    await later;

    expect(outer.used).toBe(0);
  });

  test('tells the semaphores the flow of its work, and only for its tenant', () => {
    const { permit } = semaphoreWithPermit();

    expect(permit.run(() => [flowOf('a'), flowOf('b')])).toEqual([ann, { tenantID: 'b' }]);
    expect(flowOf('a')).toEqual({ tenantID: 'a' });
  });
});
