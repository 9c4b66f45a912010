import { createLane, IN_ORDER } from '#shared/concurrency/semaphore.ts';
import { bytesOfWork } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import { unlessAborted } from '../outbound/unless-aborted.ts';
import type { Meter } from './back-pressure.ts';

/** A connection to a server, lent to one piece of work at a time. */
export interface PooledConnection {
  /** False once it is broken or closed. */
  readonly isOpen: boolean;
  /** Undoes changes of the work: settings, locks, a transaction, temporary tables. */
  reset(): Promise<void>;
  /** Cancels the running statement at the server. */
  cancel(): Promise<void>;
  close(): void;
  /** Limits what the connection receives to what the work it is lent to may hold. */
  readonly meter?: Meter;
}

/** The server of a pool, and how to connect to it. */
export interface ConnectionSource<C> {
  /** Connections of one key are interchangeable. Idle connections of another key are closed when this one is asked for. */
  key: string;
  open(signal: AbortSignal): Promise<C>;
  /** Whether other work waits for a connection to the same server: one that comes back is then closed, not kept. */
  isCrowded?(): boolean;
}

/** Lends connections, a limited number at once. Work that finds all of them taken waits. */
export interface ConnectionPool<C extends PooledConnection> extends AsyncDisposable {
  lend<T>(signal: AbortSignal, work: (connection: C) => Promise<T>): Promise<T>;
  /** Since when each idle connection is idle (`performance.now()`), the oldest first. */
  readonly idleSince: readonly number[];
  /** Closes its oldest idle connection. */
  closeOldest(): void;
}

interface PoolSettings<C> {
  /** Name of the server in error messages. */
  where: string;
  /** Called before each piece of work, once a place is free for it. */
  find(signal: AbortSignal): Promise<ConnectionSource<C>>;
  maxConnections: number;
  /** More than this many for each connection are refused instead of waiting. Default: no limit. */
  maxWaitingPerConnection?: number;
  /** Called when no work is under way and no connection is idle. */
  onEmpty?(): void;
}

/** Firewalls drop idle connections without telling either side. */
const IDLE_MS = 30_000;
const TIDY_MS = 5_000;

interface Idle<C> {
  connection: C;
  timer: NodeJS.Timeout;
  since: number;
}

type Lent<C> = Pick<ConnectionSource<C>, 'key' | 'isCrowded'> & { connection: C };

/** Work that waits until its connection is open. */
interface Opener<C> {
  key: string;
  /** Gives it one that has come back meanwhile. */
  give(connection: C): void;
}

export function createConnectionPool<C extends PooledConnection>({
  where,
  find,
  maxConnections,
  maxWaitingPerConnection = Number.POSITIVE_INFINITY,
  onEmpty = () => undefined,
}: PoolSettings<C>): ConnectionPool<C> {
  const lane = createLane({ places: maxConnections, maxWaiting: maxConnections * maxWaitingPerConnection });
  const idle: Idle<C>[] = [];
  /** Connections that are being reset. */
  const returning = new Set<Promise<void>>();
  const openers = new Set<Opener<C>>();
  /** Key of the source that was asked for last. */
  let current: string | undefined;
  let users = 0;
  let isClosed = false;

  /** The connection that was used last, so that surplus ones reach their idle limit. */
  function takeIdle(key: string): C | undefined {
    if (key !== current) closeIdle();
    current = key;
    for (let last = idle.pop(); last; last = idle.pop()) {
      clearTimeout(last.timer);
      if (last.connection.isOpen) return last.connection;
      last.connection.close();
    }
    return undefined;
  }

  function closeIdle(): void {
    for (const { connection, timer } of idle.splice(0)) {
      clearTimeout(timer);
      connection.close();
    }
  }

  /** For work that waits for a connection, or else for later. */
  function putBack(connection: C, key: string): void {
    for (const opener of openers) {
      if (opener.key !== key) continue;
      openers.delete(opener);
      opener.give(connection);
      return;
    }
    keep(connection);
  }

  function keep(connection: C): void {
    const kept: Idle<C> = {
      connection,
      timer: setTimeout(() => drop(kept), IDLE_MS).unref(),
      since: performance.now(),
    };
    idle.push(kept);
  }

  function drop(kept: Idle<C>): void {
    clearTimeout(kept.timer);
    idle.splice(idle.indexOf(kept), 1);
    kept.connection.close();
    tellWhenEmpty();
  }

  function tellWhenEmpty(): void {
    if (users === 0 && idle.length === 0) onEmpty();
  }

  /**
   * The answer does not wait for this; the next work does. A connection whose work was stopped is closed: a late cancel would
   * hit the next work on it.
   */
  async function giveBack(
    { connection, key, isCrowded = () => false }: Lent<C>,
    { isOver }: { isOver: boolean },
  ): Promise<void> {
    connection.meter?.lendTo(undefined);
    const mayStay = () => isOver && connection.isOpen && !isClosed && key === current && !isCrowded();
    try {
      if (!isOver) await inTime(connection.cancel());
      else if (mayStay()) {
        await inTime(connection.reset());
        if (mayStay()) return putBack(connection, key);
      }
    } catch {
      // It is closed.
    }
    connection.close();
  }

  /** Resetting a connection takes less time than opening one, and needs no further place at the server. */
  async function takeReturned(source: ConnectionSource<C>, signal: AbortSignal): Promise<C> {
    if (returning.size > 0) await unlessAborted(signal, Promise.race(returning));
    return takeIdle(source.key) ?? (await openUnlessReturned(source, signal));
  }

  /** Opening may have to wait for a place at the server. A connection of this pool may come back before. */
  function openUnlessReturned({ key, open }: ConnectionSource<C>, signal: AbortSignal): Promise<C> {
    return new Promise((resolve, reject) => {
      const unneeded = new AbortController();
      const opener: Opener<C> = {
        key,
        give(connection) {
          resolve(connection);
          unneeded.abort(new Error('Another connection has come back'));
        },
      };
      openers.add(opener);
      open(AbortSignal.any([signal, unneeded.signal])).then(
        (connection) => {
          if (openers.delete(opener)) resolve(connection);
          else if (isClosed || key !== current) connection.close();
          else putBack(connection, key);
        },
        (error) => {
          if (openers.delete(opener)) reject(error);
        },
      );
    });
  }

  async function workOn<T>(signal: AbortSignal, work: (connection: C) => Promise<T>, leave: () => void): Promise<T> {
    let lent: Lent<C> | undefined;
    let isOver = false;
    try {
      const source = await find(signal);
      lent = { ...source, connection: takeIdle(source.key) ?? (await takeReturned(source, signal)) };
      lent.connection.meter?.lendTo(bytesOfWork());
      const working = work(lent.connection).finally(() => {
        isOver = true;
      });
      return await unlessAborted(signal, working);
    } finally {
      if (lent) {
        const back = giveBack(lent, { isOver }).finally(() => returning.delete(back));
        if (isOver) returning.add(back);
        void back.finally(leave);
      } else leave();
    }
  }

  return {
    async lend(signal, work) {
      users += 1;
      const leaveLane = await lane.enter(IN_ORDER, signal).catch((error: unknown) => {
        users -= 1;
        throw error;
      });
      const leave = () => {
        users -= 1;
        leaveLane?.();
        tellWhenEmpty();
      };
      if (!leaveLane) {
        leave();
        throw new AppError(
          'UPSTREAM_TIMEOUT',
          `All ${maxConnections} connections to ${where} were taken; nothing was done`,
          {
            cause: signal.reason,
            details: { begun: false },
          },
        );
      }
      return await workOn(signal, work, leave);
    },
    get idleSince() {
      return idle.map(({ since }) => since);
    },
    closeOldest() {
      const [oldest] = idle;
      if (oldest) drop(oldest);
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      closeIdle();
    },
  };
}

async function inTime(work: Promise<void>): Promise<void> {
  await unlessAborted(AbortSignal.timeout(TIDY_MS), work);
}
