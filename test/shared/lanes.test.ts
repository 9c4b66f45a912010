import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLane, createLanes, IN_ORDER } from '#shared/lanes.ts';
import type { Turn } from '#shared/turns.ts';

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
