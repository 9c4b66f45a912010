import { AppError } from '#shared/core/errors.ts';
import { unlessAborted } from '../outbound/unless-aborted.ts';
import { reasonOf, upstreamError } from '../outbound/upstream-error.ts';

interface ConnectionSource<C> {
  /** `host:port`, for error messages. */
  where: string;
  open(signal: AbortSignal): Promise<C>;
  isOpen(connection: C): boolean;
  close(connection: C): void;
}

/** One connection that many calls share. The first call opens it, and after it has broken, the next call opens another. */
export interface SharedConnection<C> extends AsyncDisposable {
  use<T>(signal: AbortSignal, work: (connection: C) => Promise<T>): Promise<T>;
}

const OPEN_MS = 10_000;

interface Entry<C> {
  opened: Promise<C>;
  connection: C | undefined;
  users: number;
  isRetired: boolean;
}

export function createSharedConnection<C>({ where, open, isOpen, close }: ConnectionSource<C>): SharedConnection<C> {
  const ended = new AbortController();
  let current: Entry<C> | undefined;

  function findOrOpen(): Entry<C> {
    if (current && (!current.connection || isOpen(current.connection))) return current;
    const entry: Entry<C> = { opened: openInTime(), connection: undefined, users: 0, isRetired: false };
    current = entry;
    entry.opened.then(
      (connection) => {
        entry.connection = connection;
        if (entry.isRetired && entry.users === 0) close(connection);
      },
      () => {
        if (current === entry) current = undefined;
      },
    );
    return entry;
  }

  /** Opens the connection, without the signal of the first call, because other calls wait for the same connection. */
  async function openInTime(): Promise<C> {
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

  function retire(entry: Entry<C>): void {
    entry.isRetired = true;
    if (current === entry) current = undefined;
    if (entry.users === 0 && entry.connection) close(entry.connection);
  }

  return {
    async use(signal, work) {
      if (signal.aborted) throw known(signal.reason, signal, 'lost');
      const entry = findOrOpen();
      entry.users += 1;
      try {
        const connection = await unlessAborted(signal, entry.opened);
        return await unlessAborted(signal, work(connection));
      } catch (error) {
        // A server that did not answer this call may not answer any: the next call opens another connection.
        if (signal.aborted) retire(entry);
        throw known(error, signal, 'lost');
      } finally {
        entry.users -= 1;
        if (entry.isRetired) retire(entry);
      }
    },
    async [Symbol.asyncDispose]() {
      ended.abort();
      if (current) retire(current);
    },
  };
}
