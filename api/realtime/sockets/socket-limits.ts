import type { IncomingMessage } from 'node:http';
import { AppError } from '#shared/core/errors.ts';
import type { ConnectionLimit } from '../../http/limits/connections.ts';

/** A connection of engine.io: by polling, one that lasts over many requests. */
interface Session {
  readonly request: IncomingMessage;
  once(event: 'close', listener: () => void): unknown;
}

/** Sockets of one user in one API process. Each may be in 500 rooms. */
export const MAX_OF_USER = 100;

/** Limits the sessions of sockets in this process: those of a user, and those of an address that have not signed in yet. */
export function createSocketLimits({
  addressOf,
  maxUnidentified,
}: Pick<ConnectionLimit, 'addressOf' | 'maxUnidentified'>) {
  const unidentified = new Map<string, Set<Session>>();
  const ofUsers = new Map<string, Set<Session>>();

  function enter(sets: Map<string, Set<Session>>, name: string, session: Session): void {
    const own = sets.get(name) ?? new Set();
    sets.set(name, own.add(session));
    session.once('close', () => leave(sets, name, session));
  }

  function leave(sets: Map<string, Set<Session>>, name: string, session: Session): void {
    const own = sets.get(name);
    own?.delete(session);
    if (own?.size === 0) sets.delete(name);
  }

  return {
    /** Whether the request may begin a session. */
    admits(request: IncomingMessage): boolean {
      const address = addressOf(request);
      return address === undefined || (unidentified.get(address)?.size ?? 0) < maxUnidentified;
    },
    opened(session: Session): void {
      const address = addressOf(session.request);
      if (address !== undefined) enter(unidentified, address, session);
    },
    identified(session: Session, userID: string): void {
      const own = ofUsers.get(userID);
      if (own && own.size >= MAX_OF_USER && !own.has(session))
        throw new AppError('RATE_LIMITED', `You have ${own.size} sockets open, and may have ${MAX_OF_USER}`, {
          retryAfter: 5,
          reason: 'sockets',
        });
      const address = addressOf(session.request);
      if (address !== undefined) leave(unidentified, address, session);
      if (!own?.has(session)) enter(ofUsers, userID, session);
    },
  };
}
