import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { newID } from '#shared/core/ids.ts';
import { createSlots } from '#workers/engine/execute/slots.ts';
import { createLease, type Lease } from '#workers/engine/lease/lease.ts';
import { type Deployment, startDeployment } from '../../../support/deployment.ts';
import { testLogger } from '../../../support/environment.ts';
import { eventually } from '../../../support/settle.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());
afterEach(() => vi.useRealTimers());

function newLease(leaseMs: number, onLost = () => {}, onRenewed = async () => {}): Lease {
  const { pool } = deployment;
  return createLease({ pool, slots: 1, leaseMs, logger: testLogger, onLost, onRenewed });
}

test.each([
  // A machine that was suspended: its monotonic clock stood still.
  { clock: 'Date', how: 'of the day' },
  // The clock of the day was set back meanwhile.
  { clock: 'performance', how: 'that is monotonic' },
] as const)('a lease is over when the clock $how says so', async ({ clock }) => {
  await using lease = newLease(60_000);
  vi.useFakeTimers({ toFake: [clock] });
  await lease.open();
  expect(lease.isValid).toBe(true);

  vi.advanceTimersByTime(59_000);
  expect(lease.isValid).toBe(true);
  vi.advanceTimersByTime(1_000);

  expect(lease.isValid).toBe(false);
});

test('a lease counts from the moment at which it was asked for, however late the answer comes', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const query = async (text: string, ...values: unknown[]) => {
    const answer = await Reflect.apply(deployment.pool.query, deployment.pool, [text, ...values]);
    if (!text.startsWith('select')) vi.advanceTimersByTime(2_900);
    return answer;
  };
  const pool = new Proxy(deployment.pool, { get: (of, key) => (key === 'query' ? query : Reflect.get(of, key)) });
  const [onLost, onRenewed] = [() => undefined, async () => undefined];
  await using lease = createLease({ pool, slots: 1, leaseMs: 3_000, logger: testLogger, onLost, onRenewed });
  await lease.open();
  for (const renewed of [0, 1]) {
    await eventually(() => expect(lease.stats.renewed).toBe(renewed));
    expect(lease.isValid).toBe(true);
    vi.advanceTimersByTime(100);
    expect(lease.isValid).toBe(false);
  }
});

test('a node that gets a slot begins when the lease is valid, and not while it is over', async () => {
  await using lease = newLease(1_500);
  await lease.open();
  const slots = createSlots(1, lease, createMemoryBudget({ maxBytes: 1_000_000 }));
  const run = vi.fn(async () => undefined);
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.advanceTimersByTime(1_500);
  expect(lease.isValid).toBe(false);

  const flow = { tenantID: newID() };
  const done = slots.enter({ flow, isShort: false, isOver: () => false, run });

  expect(run).not.toHaveBeenCalled();
  // The next renewal.
  await done;
  expect(run).toHaveBeenCalledTimes(1);
});

test('runs are compared after each renewal, also after a comparison that failed, and not twice at once', async () => {
  const second = Promise.withResolvers<void>();
  const onRenewed = vi
    .fn(async () => undefined)
    .mockRejectedValueOnce(new Error('no connection'))
    .mockReturnValueOnce(second.promise as Promise<undefined>);
  await using lease = newLease(600, undefined, onRenewed);
  await lease.open();

  await eventually(() => expect(onRenewed).toHaveBeenCalledTimes(2));
  const { renewed } = lease.stats;
  await eventually(() => expect(lease.stats.renewed).toBeGreaterThan(renewed + 1));
  expect(onRenewed).toHaveBeenCalledTimes(2);
  second.resolve();

  await eventually(() => expect(onRenewed.mock.calls.length).toBeGreaterThan(2));
});

test('a worker whose lease was ended by another drops its runs, and begins another lease', async () => {
  const onLost = vi.fn();
  await using lease = newLease(600, onLost);
  await lease.open();
  const { id } = lease;

  await deployment.pool.query('update worker_session set ended_at = now() where id = $1', [id]);

  await eventually(() => expect(lease.id).not.toBe(id));
  expect(onLost).toHaveBeenCalledTimes(1);
  expect(lease.stats.lost).toBe(1);
  await lease.untilValid();
});

test('the runs of a lease are compared as of a time before they were read', async () => {
  let readAt = Number.POSITIVE_INFINITY;
  const query = (text: string, ...values: unknown[]) => {
    if (text.startsWith('select id, epoch')) readAt = Math.min(readAt, Date.now());
    return Reflect.apply(deployment.pool.query, deployment.pool, [text, ...values]);
  };
  const pool = new Proxy(deployment.pool, {
    get: (target, key) => (key === 'query' ? query : Reflect.get(target, key)),
  });
  const compared = Promise.withResolvers<number>();
  const onRenewed = async (_: unknown, asOf: number) => compared.resolve(asOf);
  await using lease = createLease({ pool, slots: 1, leaseMs: 300, logger: testLogger, onLost: () => {}, onRenewed });
  await lease.open();

  // A run that is claimed meanwhile is not among them, and must not look lost.
  expect(await compared.promise).toBeLessThanOrEqual(readAt);
});

test('a lease that is given up has ended for the others at once, and is renewed no more', async () => {
  await using lease = newLease(600);
  await lease.open();

  await lease.end();

  const { renewed } = lease.stats;
  const { rows } = await deployment.pool.query(
    'select ended_at is not null as ended from worker_session where id = $1',
    [lease.id],
  );
  expect(rows).toEqual([{ ended: true }]);
  await sleep(300);
  expect(lease.stats).toMatchObject({ renewed, lost: 0 });
});
