import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSessions, type Session } from '#workers/connections/sessions.ts';

interface Counted extends Session {
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
  const session: Counted = {
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
  opened.push(session);
  return session;
}

function create({ places = 2, line = Number.POSITIVE_INFINITY } = {}) {
  return createSessions<Counted>({
    where: 'db.example:5432',
    find: async () => ({ key: source, open: async () => open() }),
    places,
    line,
    onEmpty: () => {
      emptied += 1;
    },
  });
}

/** What follows an answer has been done. */
const afterwards = () => sleep(5);

test('a session is reset after its work and lent again', async () => {
  await using sessions = create();

  for (const n of [1, 2, 3]) {
    expect(await sessions.use(never, async () => n)).toBe(n);
    await afterwards();
  }

  expect(opened).toHaveLength(1);
  expect(opened[0]?.calls).toEqual(['reset', 'reset', 'reset']);
  expect(emptied).toBe(0);
});

test('work that fails gives its session back as well', async () => {
  await using sessions = create();

  await expect(sessions.use(never, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await afterwards();

  expect(opened[0]?.calls).toEqual(['reset']);
});

test('more than there are places wait for their turn, and who finds the line too long is refused', async () => {
  await using sessions = create({ places: 1, line: 1 });
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const first = sessions.use(never, () => over);
  const second = sessions.use(never, async () => 2);

  await expect(sessions.use(never, async () => 3)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  resolve();

  await first;
  expect(await second).toBe(2);
  expect(opened).toHaveLength(1);
});

test('who waits until it is too late is told that nothing was done', async () => {
  await using sessions = create({ places: 1 });
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const first = sessions.use(never, () => over);
  let isBegun = false;

  const waiting = sessions.use(AbortSignal.timeout(20), async () => {
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

test('work that is aborted is cancelled at the server, and its session lent to nobody else', async () => {
  await using sessions = create({ places: 1 });
  const stop = new AbortController();
  const work = sessions.use(stop.signal, () => new Promise(() => undefined));
  await afterwards();

  stop.abort(new Error('enough'));

  await expect(work).rejects.toThrow('enough');
  await afterwards();
  expect(opened[0]?.calls).toEqual(['cancel', 'close']);
  expect(emptied).toBe(1);
  await sessions.use(never, async () => undefined);
  expect(opened).toHaveLength(2);
});

test('sessions of another source are closed as soon as this one is asked for, also when they come back late', async () => {
  await using sessions = create({ places: 3 });
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const late = sessions.use(never, () => over);
  await sessions.use(never, async () => undefined);
  await afterwards();
  source = 'b';

  await sessions.use(never, async (session) => expect(session.source).toBe('b'));
  resolve();
  await late;
  await afterwards();

  expect(opened.map((session) => [session.source, session.isOpen])).toEqual([
    ['a', false],
    ['a', false],
    ['b', true],
  ]);
});

test('one that broke while it was idle is not lent', async () => {
  await using sessions = create();
  await sessions.use(never, async () => undefined);
  await afterwards();
  opened[0]?.close();

  await sessions.use(never, async (session) => expect(session.isOpen).toBe(true));
  expect(opened).toHaveLength(2);
});

test('idle ones are closed after half a minute, and then there is nothing left', async () => {
  vi.useFakeTimers();
  await using sessions = create();
  await sessions.use(never, async () => undefined);
  await vi.advanceTimersByTimeAsync(29_000);
  expect(opened[0]?.isOpen).toBe(true);

  await vi.advanceTimersByTimeAsync(2_000);

  expect(opened[0]?.isOpen).toBe(false);
  expect(emptied).toBe(1);
});

test('after the end what comes back is closed', async () => {
  const sessions = create();
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const work = sessions.use(never, () => over);
  await afterwards();

  await sessions[Symbol.asyncDispose]();
  resolve();
  await work;
  await afterwards();

  expect(opened[0]?.isOpen).toBe(false);
});
