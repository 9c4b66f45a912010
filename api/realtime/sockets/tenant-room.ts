import type { PolicyCaller } from '#shared/access/policy/policy.ts';
import type { AnyServerPayload, events } from '#shared/messaging/realtime/events.ts';
import type { ApiContext } from '../../context/context.ts';
import { requireGrant } from './join.ts';
import { rooms } from './rooms.ts';
import { type ClientSocket, hasCapacity } from './socket.ts';

export type RoomContext = Pick<ApiContext, 'access' | 'pool' | 'logger'>;

export type Sockets = () => Iterable<ClientSocket>;

/** A user in the room of a tenant. */
export type Member = PolicyCaller & { userID: string };

/** The tenants in whose rooms these sockets are. */
export function tenantsWithRoom(sockets: Iterable<ClientSocket>): string[] {
  const tenants = [...sockets].flatMap(({ data }) =>
    [...data.rooms].flatMap(([room, { grant }]) => (room === rooms.tenant(grant.tenantID) ? grant.tenantID : [])),
  );
  return [...new Set(tenants)];
}

interface News<E extends keyof typeof events.server> {
  tenantID: string;
  event: E;
  /** Returns the messages that a user may get. Called once for all sockets of the user. */
  hear(member: Member): Promise<readonly AnyServerPayload<E>[]>;
}

/**
 * Sends messages to sockets in the room of a tenant. Slow sockets are skipped: messages would stay in memory, and lists
 * say the same.
 */
export async function tellMembers<E extends keyof typeof events.server>(
  sockets: Sockets,
  context: RoomContext,
  { tenantID, event, hear }: News<E>,
): Promise<void> {
  const room = rooms.tenant(tenantID);
  const isIn = (socket: ClientSocket) => socket.data.rooms.has(room) && hasCapacity(socket);
  const members = Map.groupBy([...sockets()].filter(isIn), ({ data }) => data.userID);
  for (const [userID, own] of members) {
    const messages = await messagesFor(context, userID, { tenantID, event, hear });
    for (const socket of own) {
      // Event and payload belong together, which `emit` cannot express for a name that varies.
      const emit = socket.emit.bind(socket) as (event: string, payload: unknown) => boolean;
      // The socket may have left meanwhile, or be slow by now.
      for (const payload of messages) if (isIn(socket)) emit(event, payload);
    }
  }
}

async function messagesFor<E extends keyof typeof events.server>(
  context: RoomContext,
  userID: string,
  { tenantID, event, hear }: News<E>,
): Promise<readonly AnyServerPayload<E>[]> {
  try {
    const version = await requireGrant(context, userID, { tenantID });
    return await hear({ tenantID, version, subjects: [userID], userID });
  } catch (error) {
    context.logger.debug({ err: error, event }, 'not sent to a user in the room of a tenant');
    return [];
  }
}
