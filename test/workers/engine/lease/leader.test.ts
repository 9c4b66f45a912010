import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createEvents } from '#shared/runs/send-event.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { createLeader, type Leader } from '#workers/engine/lease/leader.ts';
import { createSweep } from '#workers/engine/recovery/sweep.ts';

const LEASE_MS = 2_000;
let deployment: Deployment;
let leaders: Leader[];
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());
beforeEach(() => {
  leaders = [];
});
afterEach(async () => {
  for (const leader of leaders) await leader[Symbol.asyncDispose]();
});

function aLeader(): Leader {
  const leader = createLeader({ pool: deployment.pool, leaseMs: LEASE_MS, logger: testLogger });
  leaders.push(leader);
  return leader;
}

/** Writes the row as another process has left it, with its last tick and the start of its streak so many seconds ago. */
async function leftByAnother({ lastTick, streak }: { lastTick: number; streak: number }): Promise<void> {
  await deployment.pool.query(
    `update sweep set leader = $1, last_tick = now() - make_interval(secs => $2), streak_started_at = now() - make_interval(secs => $3)`,
    [newID(), lastTick, streak],
  );
}

test('one of several processes leads, and the next one when it stops', async () => {
  const [first, second] = [aLeader(), aLeader()];
  expect(await first.tick()).toMatchObject({ leads: true });
  expect(await second.tick()).toEqual({ leads: false, mayExpire: false });
  expect(await first.tick()).toMatchObject({ leads: true });

  await first[Symbol.asyncDispose]();

  expect(await second.tick()).toMatchObject({ leads: true });
});

test.each([
  { what: 'ticked a second ago', lastTick: 1, streak: 60, expected: { leads: false, mayExpire: false } },
  { what: 'ticked three seconds ago', lastTick: 3, streak: 60, expected: { leads: true, mayExpire: true } },
  { what: 'has led for less than a lease', lastTick: 3, streak: 1, expected: { leads: true, mayExpire: false } },
  { what: 'ticked six seconds ago', lastTick: 6, streak: 60, expected: { leads: true, mayExpire: false } },
  { what: 'ticked an hour from now', lastTick: -3_600, streak: 60, expected: { leads: true, mayExpire: false } },
])('after a leader that $what: $expected', async ({ lastTick, streak, expected }) => {
  await leftByAnother({ lastTick, streak });

  expect(await aLeader().tick()).toEqual(expected);
});

test('a streak that was broken has to last for a lease again, also for the leader who goes on', async () => {
  await leftByAnother({ lastTick: 6, streak: 60 });
  const leader = aLeader();
  await leader.tick();

  expect(await leader.tick()).toEqual({ leads: true, mayExpire: false });
  await deployment.pool.query(`update sweep set streak_started_at = now() - interval '3 seconds'`);
  expect(await leader.tick()).toEqual({ leads: true, mayExpire: true });
});

test('a leader ticks by itself while its sweep takes long', async () => {
  await aLeader().tick();
  await deployment.pool.query(`update sweep set last_tick = now() - interval '2500 milliseconds'`);

  const isRecent = async () => {
    const { rows } = await deployment.pool.query(`select last_tick > now() - interval '1 second' as recent from sweep`);
    return rows[0]?.recent;
  };
  expect(await isRecent()).toBe(false);
  await expect.poll(isRecent).toBe(true);
});

test('a leader whose ticks have no answer leads no more, after the time in which another takes the lead', async () => {
  const { pool } = deployment;
  let isAway = false;
  const query = (...of: unknown[]) =>
    isAway ? Promise.reject(new Error('away')) : Reflect.apply(pool.query, pool, of);
  const stopping = new Proxy(pool, { get: (of, key) => (key === 'query' ? query : Reflect.get(of, key)) });
  const leader = createLeader({ pool: stopping, leaseMs: LEASE_MS, logger: testLogger });
  leaders.push(leader);
  await leader.tick();
  expect(leader.leads).toBe(true);

  isAway = true;

  await expect.poll(() => leader.leads).toBe(false);
});

test('a process that takes the lead by its own timer sweeps at once, and does not wait for its next round', async () => {
  const { pool, runs, producer, backplane } = deployment;
  const looked = Promise.withResolvers<void>();
  await using sweep = createSweep({
    ...{ pool, leasePool: pool, runs, producer, backplane, logger: testLogger, leaseMs: LEASE_MS },
    events: createEvents({ pool, runs, rights: { may: async () => true } }),
    onPressure: () => looked.resolve(),
  });
  await leftByAnother({ lastTick: -2, streak: 60 });
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    sweep.start();
    // Its next round waits for a timer that never ends.
    await looked.promise;
  } finally {
    vi.useRealTimers();
  }
  expect(sweep.stats.tasks.size).toBe(0);

  await pool.query('update sweep set leader = null');

  await expect.poll(() => sweep.stats.tasks.get('refill')?.times).toBeGreaterThan(0);
});
