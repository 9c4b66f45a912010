import { AppError } from '#shared/errors.ts';
import { createLane, IN_ORDER } from '#shared/lanes.ts';
import { unlessAborted } from '../outbound/unless-aborted.ts';

/** A connection to a server, lent to one piece of work at a time. */
export interface PooledConnection {
  /** False once it is broken or closed. */
  readonly isOpen: boolean;
  /** Undoes changes of the work: settings, locks, a transaction, temporary tables. */
  reset(): Promise<void>;
  /** Cancels the running statement at the server. */
  cancel(): Promise<void>;
  close(): void;
}

/** The server of a pool, and how to connect to it. */
export interface ConnectionSource<C> {
  /** Connections of one key are interchangeable. Idle connections of another key are closed when this one is asked for. */
  key: string;
  open(signal: AbortSignal): Promise<C>;
}

/** Lends connections, a limited number at once. Work that finds all of them taken waits. */
export interface ConnectionPool<C extends PooledConnection> extends AsyncDisposable {
  lend<T>(signal: AbortSignal, work: (connection: C) => Promise<T>): Promise<T>;
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

  function keep(connection: C): void {
    const kept: Idle<C> = { connection, timer: setTimeout(() => drop(kept), IDLE_MS).unref() };
    idle.push(kept);
  }

  function drop(kept: Idle<C>): void {
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
    { connection, key }: { connection: C; key: string },
    { isOver }: { isOver: boolean },
  ): Promise<void> {
    try {
      if (isOver && connection.isOpen) await inTime(connection.reset());
      else if (!isOver) await inTime(connection.cancel());
    } catch {
      connection.close();
    }
    if (isOver && connection.isOpen && !isClosed && key === current) keep(connection);
    else connection.close();
  }

  async function workOn<T>(signal: AbortSignal, work: (connection: C) => Promise<T>, leave: () => void): Promise<T> {
    let lent: { connection: C; key: string } | undefined;
    let isOver = false;
    try {
      const { key, open } = await find(signal);
      lent = { connection: takeIdle(key) ?? (await open(signal)), key };
      const working = work(lent.connection).finally(() => {
        isOver = true;
      });
      return await unlessAborted(signal, working);
    } finally {
      if (lent) void giveBack(lent, { isOver }).finally(leave);
      else leave();
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
    async [Symbol.asyncDispose]() {
      isClosed = true;
      closeIdle();
    },
  };
}

async function inTime(work: Promise<void>): Promise<void> {
  await unlessAborted(AbortSignal.timeout(TIDY_MS), work);
}
