import { AppError } from '#shared/errors.ts';
import { unlessAborted } from '#shared/unless-aborted.ts';
import { reasonOf, upstreamError } from '../outbound/upstream-error.ts';

interface Driver<Session> {
  /** `host:port`, for the words of errors. */
  where: string;
  open(signal: AbortSignal): Promise<Session>;
  isOpen(session: Session): boolean;
  close(session: Session): void;
}

/** One connection that many calls share. It is opened when somebody needs it, and another one when it is gone. */
export interface Link<Session> extends AsyncDisposable {
  use<T>(signal: AbortSignal, work: (session: Session) => Promise<T>): Promise<T>;
}

const OPEN_MS = 10_000;

interface Held<Session> {
  opened: Promise<Session>;
  session: Session | undefined;
  users: number;
  isRetired: boolean;
}

export function createLink<Session>({ where, open, isOpen, close }: Driver<Session>): Link<Session> {
  const ended = new AbortController();
  let current: Held<Session> | undefined;

  function enter(): Held<Session> {
    if (current && (!current.session || isOpen(current.session))) return current;
    const held: Held<Session> = { opened: begin(), session: undefined, users: 0, isRetired: false };
    current = held;
    held.opened.then(
      (session) => {
        held.session = session;
        if (held.isRetired && held.users === 0) close(session);
      },
      () => {
        if (current === held) current = undefined;
      },
    );
    return held;
  }

  /** The time to connect is not that of the first who asks: others wait for the same. */
  async function begin(): Promise<Session> {
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(OPEN_MS)]);
    try {
      return await unlessAborted(signal, open(signal));
    } catch (error) {
      throw known(error, signal, 'refused');
    }
  }

  function known(error: unknown, signal: AbortSignal, otherwise: 'refused' | 'lost'): AppError {
    if (error instanceof AppError) return error;
    return upstreamError(signal.aborted ? 'timeout' : (reasonOf(error) ?? otherwise), where, error);
  }

  function retire(held: Held<Session>): void {
    held.isRetired = true;
    if (current === held) current = undefined;
    if (held.users === 0 && held.session) close(held.session);
  }

  return {
    async use(signal, work) {
      if (signal.aborted) throw known(signal.reason, signal, 'lost');
      const held = enter();
      held.users += 1;
      try {
        const session = await unlessAborted(signal, held.opened);
        return await unlessAborted(signal, work(session));
      } catch (error) {
        // A server that does not answer one may not answer anybody: the next one gets a connection of its own.
        if (signal.aborted) retire(held);
        throw known(error, signal, 'lost');
      } finally {
        held.users -= 1;
        if (held.isRetired) retire(held);
      }
    },
    async [Symbol.asyncDispose]() {
      ended.abort();
      if (current) retire(current);
    },
  };
}
