import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface TCPServer extends AsyncDisposable {
  port: number;
  /** Resolves when a client has connected. */
  connected: Promise<void>;
  connections(): number;
}

/** A TCP server that is no database. */
export async function startTCP(onConnection: (socket: Socket) => void = () => {}): Promise<TCPServer> {
  const sockets = new Set<Socket>();
  const { promise: connected, resolve } = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onConnection(socket);
    resolve();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connected,
    connections: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
