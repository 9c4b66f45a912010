import { unlessAborted } from '#shared/unless-aborted.ts';

/** A connection to a server, for one query at a time. */
export interface Session {
  /** False once it is of no use to anybody. */
  readonly isOpen: boolean;
  /** Takes back what a query may have left: settings, locks, a transaction, temporary tables. */
  reset(): Promise<void>;
  /** Stops at the server what is under way. */
  cancel(): Promise<void>;
  close(): void;
}

/** The few sessions of one datasource; who finds them all taken waits. */
export interface Sessions<S extends Session> extends AsyncDisposable {
  use<T>(signal: AbortSignal, work: (session: S) => Promise<T>): Promise<T>;
}

const PLACES = 4;
/** Firewalls forget connections that say nothing, and do not tell. */
const STALE_MS = 30_000;
const TIDY_MS = 5_000;

export function createSessions<S extends Session>(open: (signal: AbortSignal) => Promise<S>): Sessions<S> {
  const idle: { session: S; since: number }[] = [];
  const line = new Set<() => void>();
  let taken = 0;
  let isClosed = false;

  async function enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (taken < PLACES) {
      taken += 1;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    line.add(resolve);
    try {
      await unlessAborted(signal, promise);
    } catch (error) {
      // The place may have come in the same moment; then it is somebody else's turn.
      if (!line.delete(resolve)) leave();
      throw error;
    }
  }

  /** Whoever waits takes over the place. */
  function leave(): void {
    const [next] = line;
    if (next) {
      line.delete(next);
      next();
    } else taken -= 1;
  }

  function takeIdle(): S | undefined {
    for (let last = idle.pop(); last; last = idle.pop()) {
      if (last.session.isOpen && last.since > performance.now() - STALE_MS) return last.session;
      last.session.close();
    }
    return undefined;
  }

  /** The answer does not wait for this; the next query does. */
  async function giveBack(session: S, { isOver }: { isOver: boolean }): Promise<void> {
    try {
      if (isOver && session.isOpen) await inTime(session.reset());
      else if (!isOver) await inTime(session.cancel());
    } catch {
      session.close();
    }
    if (isOver && session.isOpen && !isClosed) idle.push({ session, since: performance.now() });
    else session.close();
  }

  return {
    async use(signal, work) {
      await enter(signal);
      let session: S | undefined;
      let isOver = false;
      try {
        session = takeIdle() ?? (await open(signal));
        const working = work(session).finally(() => {
          isOver = true;
        });
        return await unlessAborted(signal, working);
      } finally {
        if (session) void giveBack(session, { isOver }).finally(leave);
        else leave();
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      for (const { session } of idle.splice(0)) session.close();
    },
  };
}

async function inTime(work: Promise<void>): Promise<void> {
  await unlessAborted(AbortSignal.timeout(TIDY_MS), work);
}
