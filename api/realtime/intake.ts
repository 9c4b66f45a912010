import type { IntakeUpdate } from '#shared/messaging/realtime/intake-pause.ts';
import { rooms } from './rooms.ts';
import { type ClientSocket, hasRoom } from './socket.ts';

/** Sends the update to the sockets that are in the room of the tenant. Slow ones do not get it: it would be held for them. */
export function sendIntakeUpdate(sockets: Iterable<ClientSocket>, update: IntakeUpdate): void {
  const room = rooms.tenant(update.tenantID);
  for (const socket of sockets)
    if (socket.data.rooms.has(room) && hasRoom(socket)) socket.emit('workflow_intake_update', update);
}
