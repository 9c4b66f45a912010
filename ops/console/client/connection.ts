import type { Socket } from 'socket.io-client';

/** Whether the page is told of changes: not yet, now, or not any more. */
export type Connection = 'connecting' | 'live' | 'lost';

export const connectionWords: Record<Connection, string> = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Reconnecting',
};

const websocketFirst = ['websocket', 'polling'];
const pollingFirst = ['polling', 'websocket'];

/**
 * A WebSocket needs no balancer that sends all requests of a socket to one server, so it is tried first. Where a proxy refuses it, the
 * same attempt goes on by polling.
 */
export const connectionOptions = {
  transports: [...websocketFirst],
  tryAllTransports: true,
  timeout: 8_000,
  reconnectionDelay: 500,
  reconnectionDelayMax: 4_000,
};

/** Lets the next attempt begin with polling after one without an answer: a proxy may hold a WebSocket that it does not know. */
// biome-ignore lint/suspicious/noExplicitAny: a socket with any events
export function pollAfterTimeouts(socket: Socket<any, any>): void {
  const begin = (order: string[]) => {
    socket.io.opts.transports = [...order];
  };
  socket.on('connect_error', ({ message }) => begin(message === 'timeout' ? pollingFirst : websocketFirst));
  socket.on('disconnect', () => begin(websocketFirst));
}
