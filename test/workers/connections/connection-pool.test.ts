import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createConnectionPool, type PooledConnection } from '#workers/connections/connection-pool.ts';

interface Counted extends PooledConnection {
  source: string;
  calls: string[];
}

let opened: Counted[];
let source: string;
let emptied: number;
beforeEach(() => {
  opened = [];
  source = 'a';
  emptied = 0;
});
afterEach(() => vi.useRealTimers());

const never = new AbortController().signal;

function open(): Counted {
  const calls: string[] = [];
  let isOpen = true;
  const connection: Counted = {
    source,
    calls,
    get isOpen() {
      return isOpen;
    },
    reset: async () => void calls.push('reset'),
    cancel: async () => void calls.push('cancel'),
    close() {
      isOpen = false;
      calls.push('close');
    },
  };
  opened.push(connection);
  return connection;
}

/** Resolves when the server can take another connection. */
let capacity: Promise<void> = Promise.resolve();

function create({ maxConnections = 2, maxWaitingPerConnection = Number.POSITIVE_INFINITY } = {}) {
  return createConnectionPool<Counted>({
    where: 'db.example:5432',
    find: async () => ({ key: source, open: () => capacity.then(open) }),
    maxConnections,
    maxWaitingPerConnection,
    onEmpty: () => {
      emptied += 1;
    },
  });
}

/** Waits until the pool has handled the returned connection. */
const afterwards = () => sleep(5);

test('a connection is reset after its work and checked out again', async () => {
  await using pool = create();

  for (const n of [1, 2, 3]) {
    expect(await pool.withConnection(never, async () => n)).toBe(n);
    await afterwards();
  }

  expect(opened).toHaveLength(1);
  expect(opened[0]?.calls).toEqual(['reset', 'reset', 'reset']);
  expect(emptied).toBe(0);
});

test('a connection is returned also after failed work', async () => {
  await using pool = create();

  await expect(pool.withConnection(never, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await afterwards();

  expect(opened[0]?.calls).toEqual(['reset']);
});

test('work beyond the limit waits in a queue, and is refused when too much waits', async () => {
  await using pool = create({ maxConnections: 1, maxWaitingPerConnection: 1 });
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const first = pool.withConnection(never, () => over);
  const second = pool.withConnection(never, async () => 2);

  await expect(pool.withConnection(never, async () => 3)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  resolve();

  await first;
  expect(await second).toBe(2);
  expect(opened).toHaveLength(1);
});

test('work that waits too long gets an error that says it was not begun', async () => {
  await using pool = create({ maxConnections: 1 });
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const first = pool.withConnection(never, () => over);
  let isBegun = false;

  const waiting = pool.withConnection(AbortSignal.timeout(20), async () => {
    isBegun = true;
  });

  await expect(waiting).rejects.toMatchObject({
    code: 'UPSTREAM_TIMEOUT',
    message: 'All 1 connections to db.example:5432 were taken; nothing was done',
    details: { begun: false },
  });
  resolve();
  await first;
  expect(isBegun).toBe(false);
});

test('aborted work is cancelled at the server, and its connection is not checked out again', async () => {
  await using pool = create({ maxConnections: 1 });
  const stop = new AbortController();
  const work = pool.withConnection(stop.signal, () => new Promise(() => undefined));
  await afterwards();

  stop.abort(new Error('enough'));

  await expect(work).rejects.toThrow('enough');
  await afterwards();
  expect(opened[0]?.calls).toEqual(['cancel', 'close']);
  expect(emptied).toBe(1);
  await pool.withConnection(never, async () => undefined);
  expect(opened).toHaveLength(2);
});

test('connections of a former source are closed at the next request for the new one, also when they are returned later', async () => {
  await using pool = create({ maxConnections: 3 });
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const late = pool.withConnection(never, () => over);
  await pool.withConnection(never, async () => undefined);
  await afterwards();
  source = 'b';

  await pool.withConnection(never, async (connection) => expect(connection.source).toBe('b'));
  resolve();
  await late;
  await afterwards();

  expect(opened.map((connection) => [connection.source, connection.isOpen])).toEqual([
    ['a', false],
    ['a', false],
    ['b', true],
  ]);
});

test('an idle connection that broke is not checked out', async () => {
  await using pool = create();
  await pool.withConnection(never, async () => undefined);
  await afterwards();
  opened[0]?.close();

  await pool.withConnection(never, async (connection) => expect(connection.isOpen).toBe(true));
  expect(opened).toHaveLength(2);
});

test('idle connections are closed after half a minute, and the pool is then empty', async () => {
  vi.useFakeTimers();
  await using pool = create();
  await pool.withConnection(never, async () => undefined);
  await vi.advanceTimersByTimeAsync(29_000);
  expect(opened[0]?.isOpen).toBe(true);

  await vi.advanceTimersByTimeAsync(2_000);

  expect(opened[0]?.isOpen).toBe(false);
  expect(emptied).toBe(1);
});

test('after disposal a returned connection is closed', async () => {
  const pool = create();
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const work = pool.withConnection(never, () => over);
  await afterwards();

  await pool[Symbol.asyncDispose]();
  resolve();
  await work;
  await afterwards();

  expect(opened[0]?.isOpen).toBe(false);
});

test('work that waits for a new connection takes one that is checked in before, and the new one stays idle', async () => {
  await using pool = create();
  const blocker = Promise.withResolvers<void>();
  const first = pool.withConnection(never, () => blocker.promise);
  await afterwards();
  const { promise, resolve } = Promise.withResolvers<void>();
  capacity = promise;
  const second = pool.withConnection(never, async (connection) => connection);
  await afterwards();
  expect(opened).toHaveLength(1);

  blocker.resolve();

  expect(await second).toBe(opened[0]);
  await first;
  resolve();
  await afterwards();
  expect(opened.map(({ isOpen }) => isOpen)).toEqual([true, true]);
  expect(pool.idleSince).toHaveLength(2);
});
