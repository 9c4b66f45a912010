import { PagePush } from '#shared/messaging/realtime/listener-events.ts';
import { rooms } from '../sockets/rooms.ts';
import { type ClientSocket, hasCapacity } from '../sockets/socket.ts';

/**
 * Sends events to the sockets of this process that watch their pages. Slow sockets are skipped: events would stay in
 * memory for them.
 */
export function sendListenerEvents(sockets: () => Iterable<ClientSocket>, broadcast: unknown): void {
  for (const { tenantID, appPageID, ...push } of PagePush.array().catch([]).parse(broadcast)) {
    const room = rooms.appPage(appPageID, tenantID);
    for (const socket of sockets())
      if (socket.data.rooms.has(room) && hasCapacity(socket)) socket.emit('listener_event', push);
  }
}
