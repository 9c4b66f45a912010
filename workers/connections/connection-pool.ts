import { createSemaphore, IN_ORDER } from '#shared/concurrency/semaphore.ts';
import { currentReservation } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import { unlessAborted } from '../outbound/unless-aborted.ts';
import type { BackPressure } from './back-pressure.ts';

/** A connection to a server, checked out by one piece of work at a time. */
export interface PooledConnection {
  /** Whether the connection is neither broken nor closed. */
  readonly isOpen: boolean;
  /** Undoes changes of the work: settings, locks, a transaction, temporary tables. */
  reset(): Promise<void>;
  /** Cancels the running statement at the server. */
  cancel(): Promise<void>;
  close(): void;
  /** Limits what the connection receives to the memory budget of the work that uses it. */
  readonly backPressure?: BackPressure;
}

/** The server of a pool, and how to connect to it. */
export interface ConnectionSource<C> {
  /** Connections of one key are interchangeable. Idle connections of another key are closed when this one is asked for. */
  key: string;
  open(signal: AbortSignal): Promise<C>;
  /** Whether other work waits for a connection to the same server: one that is checked in is then closed. */
  isContended?(): boolean;
}

/** Checks out connections, a limited number at once. Work waits while all of them are checked out. */
export interface ConnectionPool<C extends PooledConnection> extends AsyncDisposable {
  withConnection<T>(signal: AbortSignal, work: (connection: C) => Promise<T>): Promise<T>;
  /** Since when each idle connection is idle (`performance.now()`), the oldest first. */
  readonly idleSince: readonly number[];
  /** Closes its oldest idle connection. */
  closeOldest(): void;
}

interface PoolSettings<C> {
  /** Name of the server in error messages. */
  where: string;
  /** Called before each piece of work, once a connection may be checked out for it. */
  find(signal: AbortSignal): Promise<ConnectionSource<C>>;
  maxConnections: number;
  /** Pieces of work that may wait, for each connection; further ones are refused. Default: no limit. */
  maxWaitingPerConnection?: number;
  /** Called when no work is under way and no connection is idle. */
  onEmpty?(): void;
}

/** Idle connections are closed after this time, since firewalls drop them later without telling either side. */
const IDLE_MS = 30_000;
/** Time limit of a reset or a cancel. */
const TIDY_MS = 5_000;

interface Idle<C> {
  connection: C;
  timer: NodeJS.Timeout;
  since: number;
}

type CheckedOut<C> = Pick<ConnectionSource<C>, 'key' | 'isContended'> & { connection: C };

/** Work that waits until its connection is open. */
interface Opener<C> {
  key: string;
  /** Passes it a connection that was checked in meanwhile. */
  deliver(connection: C): void;
}

export function createConnectionPool<C extends PooledConnection>({
  where,
  find,
  maxConnections,
  maxWaitingPerConnection = Number.POSITIVE_INFINITY,
  onEmpty = () => undefined,
}: PoolSettings<C>): ConnectionPool<C> {
  const checkouts = createSemaphore({ permits: maxConnections, maxWaiting: maxConnections * maxWaitingPerConnection });
  const idle: Idle<C>[] = [];
  /** Connections that are being reset. */
  const returning = new Set<Promise<void>>();
  const openers = new Set<Opener<C>>();
  /** Key of the source that was asked for last. */
  let current: string | undefined;
  let users = 0;
  let isClosed = false;

  /** Returns the idle connection that was used last, so that surplus ones reach their idle limit. */
  function popIdle(key: string): C | undefined {
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

  /** Passes a connection to work that waits for one, or else to the idle ones. */
  function reuse(connection: C, key: string): void {
    for (const opener of openers) {
      if (opener.key !== key) continue;
      openers.delete(opener);
      opener.deliver(connection);
      return;
    }
    addIdle(connection);
  }

  function addIdle(connection: C): void {
    const entry: Idle<C> = {
      connection,
      timer: setTimeout(() => drop(entry), IDLE_MS).unref(),
      since: performance.now(),
    };
    idle.push(entry);
  }

  function drop(entry: Idle<C>): void {
    clearTimeout(entry.timer);
    idle.splice(idle.indexOf(entry), 1);
    entry.connection.close();
    tellWhenEmpty();
  }

  function tellWhenEmpty(): void {
    if (users === 0 && idle.length === 0) onEmpty();
  }

  /**
   * Takes a connection back. The result of the work is returned without waiting for this; the next work waits for it. A connection whose
   * work was aborted is closed: a late cancel would hit the next work on it.
   */
  async function checkIn(
    { connection, key, isContended = () => false }: CheckedOut<C>,
    { isOver }: { isOver: boolean },
  ): Promise<void> {
    connection.backPressure?.assignTo(undefined);
    const mayStay = () => isOver && connection.isOpen && !isClosed && key === current && !isContended();
    try {
      if (!isOver) await inTime(connection.cancel());
      else if (mayStay()) {
        await inTime(connection.reset());
        if (mayStay()) return reuse(connection, key);
      }
    } catch {
      // The connection is closed below.
    }
    connection.close();
  }

  /** Waits for a connection that is being reset, if there is one: that takes less time than opening another. */
  async function awaitReturned(source: ConnectionSource<C>, signal: AbortSignal): Promise<C> {
    if (returning.size > 0) await unlessAborted(signal, Promise.race(returning));
    return popIdle(source.key) ?? (await openUnlessReturned(source, signal));
  }

  /** Opens a connection, unless one of this pool is checked in before: opening may have to wait for the server's connection limit. */
  function openUnlessReturned({ key, open }: ConnectionSource<C>, signal: AbortSignal): Promise<C> {
    return new Promise((resolve, reject) => {
      const unneeded = new AbortController();
      const opener: Opener<C> = {
        key,
        deliver(connection) {
          resolve(connection);
          unneeded.abort(new Error('Another connection has come back'));
        },
      };
      openers.add(opener);
      open(AbortSignal.any([signal, unneeded.signal])).then(
        (connection) => {
          if (openers.delete(opener)) resolve(connection);
          else if (isClosed || key !== current) connection.close();
          else reuse(connection, key);
        },
        (error) => {
          if (openers.delete(opener)) reject(error);
        },
      );
    });
  }

  async function workOn<T>(signal: AbortSignal, work: (connection: C) => Promise<T>, release: () => void): Promise<T> {
    let checkedOut: CheckedOut<C> | undefined;
    let isOver = false;
    try {
      const source = await find(signal);
      checkedOut = { ...source, connection: popIdle(source.key) ?? (await awaitReturned(source, signal)) };
      checkedOut.connection.backPressure?.assignTo(currentReservation());
      const working = work(checkedOut.connection).finally(() => {
        isOver = true;
      });
      return await unlessAborted(signal, working);
    } finally {
      if (checkedOut) {
        const back = checkIn(checkedOut, { isOver }).finally(() => returning.delete(back));
        if (isOver) returning.add(back);
        void back.finally(release);
      } else release();
    }
  }

  return {
    async withConnection(signal, work) {
      users += 1;
      const releasePermit = await checkouts.acquirePermit(IN_ORDER, signal).catch((error: unknown) => {
        users -= 1;
        throw error;
      });
      const release = () => {
        users -= 1;
        releasePermit?.();
        tellWhenEmpty();
      };
      if (!releasePermit) {
        release();
        throw new AppError(
          'UPSTREAM_TIMEOUT',
          `All ${maxConnections} connections to ${where} were taken; nothing was done`,
          {
            cause: signal.reason,
            details: { begun: false },
          },
        );
      }
      return await workOn(signal, work, release);
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
