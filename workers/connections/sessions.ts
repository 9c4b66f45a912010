import { AppError } from '#shared/errors.ts';
import { createLane, IN_ORDER } from '#shared/lanes.ts';
import { unlessAborted } from '#shared/unless-aborted.ts';

/** A connection to a server, for one piece of work at a time. */
export interface Session {
  /** False once it is of no use to anybody. */
  readonly isOpen: boolean;
  /** Takes back what the work may have left: settings, locks, a transaction, temporary tables. */
  reset(): Promise<void>;
  /** Stops at the server what is under way. */
  cancel(): Promise<void>;
  close(): void;
}

/** Where sessions lead. */
export interface Source<S> {
  /** Those of one key are as good as each other; those of another are closed as soon as this one is asked for. */
  key: string;
  open(signal: AbortSignal): Promise<S>;
}

/** A few sessions that are lent; who finds them all taken waits. */
export interface Sessions<S extends Session> extends AsyncDisposable {
  use<T>(signal: AbortSignal, work: (session: S) => Promise<T>): Promise<T>;
}

interface Settings<S> {
  /** What errors call the place they lead to. */
  where: string;
  /** Asked each time, in the place that will be used. */
  find(signal: AbortSignal): Promise<Source<S>>;
  places: number;
  /** So many may wait for each place; absent: all who want to. */
  line?: number;
  /** Called when nobody uses them and none is kept. */
  onEmpty?(): void;
}

/** Firewalls forget connections that say nothing, and do not tell. */
const IDLE_MS = 30_000;
const TIDY_MS = 5_000;

interface Idle<S> {
  session: S;
  timer: NodeJS.Timeout;
}

export function createSessions<S extends Session>({
  where,
  find,
  places,
  line = Number.POSITIVE_INFINITY,
  onEmpty = () => undefined,
}: Settings<S>): Sessions<S> {
  const lane = createLane({ places, maxWaiting: places * line });
  const idle: Idle<S>[] = [];
  /** Of the source that was asked for last: what leads elsewhere is of no use any more. */
  let current: string | undefined;
  let users = 0;
  let isClosed = false;

  /** The one that was used last, so that those that are too many grow old. */
  function takeIdle(key: string): S | undefined {
    if (key !== current) closeIdle();
    current = key;
    for (let last = idle.pop(); last; last = idle.pop()) {
      clearTimeout(last.timer);
      if (last.session.isOpen) return last.session;
      last.session.close();
    }
    return undefined;
  }

  function closeIdle(): void {
    for (const { session, timer } of idle.splice(0)) {
      clearTimeout(timer);
      session.close();
    }
  }

  function keep(session: S): void {
    const kept: Idle<S> = { session, timer: setTimeout(() => drop(kept), IDLE_MS).unref() };
    idle.push(kept);
  }

  function drop(kept: Idle<S>): void {
    idle.splice(idle.indexOf(kept), 1);
    kept.session.close();
    tellWhenEmpty();
  }

  function tellWhenEmpty(): void {
    if (users === 0 && idle.length === 0) onEmpty();
  }

  /** The answer does not wait for this; the next work does. One that was stopped is closed: a late cancel would hit whoever comes next. */
  async function giveBack(
    { session, key }: { session: S; key: string },
    { isOver }: { isOver: boolean },
  ): Promise<void> {
    try {
      if (isOver && session.isOpen) await inTime(session.reset());
      else if (!isOver) await inTime(session.cancel());
    } catch {
      session.close();
    }
    if (isOver && session.isOpen && !isClosed && key === current) keep(session);
    else session.close();
  }

  async function lend<T>(signal: AbortSignal, work: (session: S) => Promise<T>, leave: () => void): Promise<T> {
    let lent: { session: S; key: string } | undefined;
    let isOver = false;
    try {
      const { key, open } = await find(signal);
      lent = { session: takeIdle(key) ?? (await open(signal)), key };
      const working = work(lent.session).finally(() => {
        isOver = true;
      });
      return await unlessAborted(signal, working);
    } finally {
      if (lent) void giveBack(lent, { isOver }).finally(leave);
      else leave();
    }
  }

  return {
    async use(signal, work) {
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
        throw new AppError('UPSTREAM_TIMEOUT', `All ${places} connections to ${where} were taken; nothing was done`, {
          cause: signal.reason,
          details: { begun: false },
        });
      }
      return await lend(signal, work, leave);
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
