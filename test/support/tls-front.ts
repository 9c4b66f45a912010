import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { certificates } from './certificates.ts';

/** TLS in front of a server that speaks none. */
export async function startTLSFront(port: number): Promise<AsyncDisposable & { port: number }> {
  const sockets = new Set<TLSSocket>();
  const server = createServer({ cert: certificates.server, key: certificates.serverKey }, (socket) => {
    sockets.add(socket);
    const inner = connect(port, '127.0.0.1');
    socket.on('error', () => inner.destroy()).on('close', () => inner.destroy());
    inner.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.pipe(inner).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
