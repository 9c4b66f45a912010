import { AppError } from '#shared/core/errors.ts';
import type { ApiContext } from '../../context/context.ts';
import { noteOnSocket } from './audit-sockets.ts';
import { rooms } from './rooms.ts';
import type { ClientSocket, JoinedRoom } from './socket.ts';

/** The work that an event of a client asks for. */
export type Work = (payload: unknown) => Promise<{
  answer: object;
  /** Called after the answer, so that the client knows what the messages belong to. */
  begin(): void;
}>;

export interface NamedWork {
  event: string;
  work: Work;
}

const maxRooms = 500;

interface Entering extends Omit<JoinedRoom, 'leave'> {
  room: string;
  begin: () => () => void;
}

export function enter(
  socket: ClientSocket,
  { requests: { audit } }: Pick<ApiContext, 'requests'>,
  { room, begin, ...joined }: Entering,
): void {
  if (!socket.connected) return;
  const { grant } = joined;
  const isFirst = !tenantsOf(socket).has(grant.tenantID);
  leave(socket, room);
  socket.data.rooms.set(room, { ...joined, leave: begin() });
  if (isFirst) noteOnSocket(audit, socket, { action: 'connect', grant });
  noteOnSocket(audit, socket, { action: 'join', grant, room });
}

export function tenantsOf({ data }: ClientSocket): ReadonlySet<string> {
  return new Set([...data.rooms.values()].map(({ grant }) => grant.tenantID));
}

export function requireFreeRoom(socket: ClientSocket, room: string): void {
  const { rooms: joined } = socket.data;
  if (joined.size >= maxRooms && !joined.has(room))
    throw new AppError('QUOTA_EXCEEDED', `A socket may be in ${maxRooms} rooms`, { reason: 'socket rooms' });
}

/** Leaves a room. After the last widget of a run, the room of the run is left as well, if it was entered for a widget. */
export function leave(socket: ClientSocket, room: string): void {
  const { rooms: joined } = socket.data;
  const left = joined.get(room);
  left?.leave();
  joined.delete(room);
  const { instanceID } = left?.bridge ?? {};
  if (instanceID === undefined || !joined.get(rooms.run(instanceID))?.isOfBridge) return;
  if (![...joined.values()].some(({ bridge }) => bridge?.instanceID === instanceID))
    leave(socket, rooms.run(instanceID));
}
