import type { IntakePauseUpdate } from '#shared/messaging/realtime/intake-pause.ts';
import { rooms } from '../sockets/rooms.ts';
import { type ClientSocket, hasCapacity } from '../sockets/socket.ts';

/**
 * Sends the update to the sockets in the room of the tenant. Slow sockets are skipped, since the message would stay in
 * memory for them.
 */
export function sendIntakePause(sockets: Iterable<ClientSocket>, update: IntakePauseUpdate): void {
  const room = rooms.tenant(update.tenantID);
  for (const socket of sockets)
    if (socket.data.rooms.has(room) && hasCapacity(socket)) socket.emit('workflow_intake_update', update);
}
