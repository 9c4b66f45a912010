import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Turn } from '#shared/concurrency/fair-queue.ts';
import { createLane, createLanes, IN_ORDER } from '#shared/concurrency/semaphore.ts';
import { Place, turnOf } from '#shared/concurrency/work-context.ts';

/** Begins to wait, and records the name when a place is granted. */
function waitIn(lane: ReturnType<typeof createLane>, given: string[], name: string, turn: Turn): void {
  void lane.wait(turn).then((hasPlace) => hasPlace && given.push(name));
}

test('a returned place goes to the next in turn', async () => {
  const lane = createLane({ places: 1 });
  const given: string[] = [];
  const ann = (tenantID: string) => ({ tenantID, creatorID: 'ann' });
  expect(lane.take(ann('a1'))).toBe(true);
  waitIn(lane, given, 'a1', ann('a1'));
  waitIn(lane, given, 'a2', ann('a2'));
  waitIn(lane, given, 'b', { tenantID: 'b', creatorID: 'bob' });

  lane.leave(ann('a1'));
  lane.leave(ann('a1'));
  lane.leave({ tenantID: 'b' });
  await nextTick();

  expect(given).toEqual(['a1', 'b', 'a2']);
  expect(lane.used).toBe(1);
});

test('the reserve is for short work, which may also take any other place', () => {
  const lane = createLane({ places: 3, reserve: 1 });
  const long = { tenantID: 'a' };
  const short = { tenantID: 'b', isShort: true };

  expect([lane.take(long), lane.take(long), lane.take(long)]).toEqual([true, true, false]);
  expect([lane.take(short), lane.take(short)]).toEqual([true, false]);
  lane.leave(long);
  expect(lane.take(short)).toBe(true);
});

test('waiting long work does not keep short work of the same tenant out of the reserve', async () => {
  const lane = createLane({ places: 2, reserve: 1 });
  const given: string[] = [];
  lane.take({ tenantID: 'a' });
  waitIn(lane, given, 'long', { tenantID: 'a' });
  waitIn(lane, given, 'short', { tenantID: 'a', isShort: true });

  await nextTick();

  expect(given).toEqual(['short']);
  lane.leave({ tenantID: 'a' });
  await nextTick();
  expect(given).toEqual(['short', 'long']);
});

test('a tenant has at most its share of places, and others overtake it', async () => {
  const lane = createLane({ places: 3, maxPerTenant: 2 });
  const given: string[] = [];
  lane.take({ tenantID: 'a' });
  lane.take({ tenantID: 'a' });
  waitIn(lane, given, 'a', { tenantID: 'a' });
  waitIn(lane, given, 'b', { tenantID: 'b' });

  await nextTick();

  expect(given).toEqual(['b']);
  lane.leave({ tenantID: 'a' });
  await nextTick();
  expect(given).toEqual(['b', 'a']);
});

test('an aborted wait leaves no place taken, and an aborted signal does not wait at all', async () => {
  const lane = createLane({ places: 1 });
  const leave = await lane.enter(IN_ORDER);
  const patience = new AbortController();
  const waiting = lane.enter(IN_ORDER, patience.signal);
  expect(lane.waiting).toBe(1);

  patience.abort();

  expect(await waiting).toBeUndefined();
  expect(await lane.enter(IN_ORDER, AbortSignal.abort())).toBeUndefined();
  expect(lane.waiting).toBe(0);
  leave?.();
  leave?.();
  expect(lane.used).toBe(0);
  expect(lane.take(IN_ORDER)).toBe(true);
  expect(lane.take(IN_ORDER)).toBe(false);
});

test('a long queue refuses, by default with RATE_LIMITED', async () => {
  const lane = createLane({ places: 1, maxWaiting: 1 });
  lane.take(IN_ORDER);
  void lane.wait(IN_ORDER);

  await expect(lane.enter(IN_ORDER)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await expect(lane.run(IN_ORDER, async () => 'done')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  expect(lane.used).toBe(1);
});

test('work that fails returns its place', async () => {
  const lane = createLane({ places: 1 });

  await expect(lane.run(IN_ORDER, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');

  expect(lane.used).toBe(0);
});

test('lanes of different names have separate places, and one name is one lane while in use', async () => {
  const lanes = createLanes({ maxWaitingPerPlace: 1 });
  const signal = new AbortController().signal;
  const first = await lanes.enter({ name: 'a', places: 1 }, IN_ORDER, signal);
  const second = lanes.enter({ name: 'a', places: 1 }, IN_ORDER, signal);
  await expect(lanes.enter({ name: 'a', places: 1 }, IN_ORDER, signal)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  const other = await lanes.enter({ name: 'b', places: 1 }, IN_ORDER, signal);
  expect(other).toBeDefined();

  first?.();

  expect(await second).toBeDefined();
  await expect(
    Promise.race([lanes.enter({ name: 'a', places: 1 }, IN_ORDER, signal), nextTick('still waiting')]),
  ).resolves.toBe('still waiting');
});

test('a creator has as many places as are free, so that a later one finds a place', () => {
  const lane = createLane({ places: 8, sharesByCreator: true });
  const takeAll = (creatorID: string) => {
    let taken = 0;
    while (taken < 8 && lane.take({ tenantID: `${creatorID}${taken}`, creatorID })) taken += 1;
    return taken;
  };

  expect(takeAll('ann')).toBe(4);
  expect(takeAll('bob')).toBe(2);
  expect(takeAll('cat')).toBe(1);
  expect(takeAll('dan')).toBe(1);
  expect(takeAll('eve')).toBe(0);
});

test('a place is wanted if work that waits would get it', async () => {
  const lane = createLane({ places: 4, sharesByCreator: true });
  const [ann, bob] = [
    { tenantID: 'a', creatorID: 'ann' },
    { tenantID: 'b', creatorID: 'bob' },
  ];
  for (const turn of [ann, ann, bob]) expect(lane.take(turn)).toBe(true);
  expect([lane.isWanted([ann]), lane.isFreeFor(ann), lane.isFreeFor(bob)]).toEqual([false, false, false]);
  waitIn(lane, [], 'ann', ann);
  await nextTick();

  // With the place of bob free, ann has used up her share of the others; with one of her own free, she has not.
  expect([lane.isWanted([bob]), lane.isWanted([ann]), lane.isWanted([ann, bob])]).toEqual([false, true, true]);
  expect([lane.isFreeFor(ann, [bob]), lane.isFreeFor(ann, [ann])]).toEqual([false, true]);
  expect([lane.used, lane.waiting]).toEqual([3, 1]);
});

test('the share of a creator who waits grows as others leave', async () => {
  const lane = createLane({ places: 4, sharesByCreator: true });
  const given: string[] = [];
  const bob = { tenantID: 'b', creatorID: 'bob' };
  for (const tenantID of ['a1', 'a2']) expect(lane.take({ tenantID, creatorID: 'ann' })).toBe(true);
  expect(lane.take(bob)).toBe(true);
  waitIn(lane, given, 'bob', bob);
  await nextTick();
  expect(given).toEqual([]);

  lane.leave({ tenantID: 'a1', creatorID: 'ann' });
  await nextTick();

  expect(given).toEqual(['bob']);
});

describe('a place', () => {
  const ann = { tenantID: 'a', creatorID: 'ann' };
  const bob = { tenantID: 'b', creatorID: 'bob' };

  function laneWithPlace() {
    const outer = createLane({ places: 1 });
    const inner = createLane({ places: 1 });
    outer.take(ann);
    inner.take(bob);
    return { outer, inner, place: new Place(outer, ann) };
  }

  test('is given back while its work waits in another lane, and taken again before it goes on', async () => {
    const { outer, inner, place } = laneWithPlace();
    const waiting = place.run(() => inner.enter(ann));
    expect(outer.take(bob)).toBe(true);
    inner.leave(bob);
    await nextTick();
    expect([outer.used, inner.used]).toEqual([1, 1]);
    await expect(Promise.race([waiting, nextTick('not yet')])).resolves.toBe('not yet');

    outer.leave(bob);
    (await waiting)?.();
    expect(outer.used).toBe(1);
    place[Symbol.dispose]();

    expect([outer.used, inner.used]).toEqual([0, 0]);
  });

  test('is not taken again by work whose wait was aborted', async () => {
    const { outer, inner, place } = laneWithPlace();
    const patience = new AbortController();
    const waiting = place.run(() => inner.enter(ann, patience.signal));
    outer.take(bob);
    patience.abort();

    expect(await waiting).toBeUndefined();
    place[Symbol.dispose]();
    expect(outer.used).toBe(1);
  });

  test('is left alone by what outlives its work', async () => {
    const { outer, inner, place } = laneWithPlace();
    const later = place.run(() => nextTick().then(() => inner.enter(ann)));
    place[Symbol.dispose]();
    expect(outer.used).toBe(0);

    await nextTick();
    inner.leave(bob);
    await later;

    expect(outer.used).toBe(0);
  });

  test('tells the lanes of its work whose turn it is, and only for its tenant', () => {
    const { place } = laneWithPlace();

    expect(place.run(() => [turnOf('a'), turnOf('b')])).toEqual([ann, { tenantID: 'b' }]);
    expect(turnOf('a')).toEqual({ tenantID: 'a' });
  });
});
