import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Server } from 'socket.io';
import type { ClientSocket, SocketServer } from '#api/realtime/sockets/socket.ts';
import { newID } from '#shared/core/ids.ts';
import { openSocket, type TestSocket } from './socket.ts';

export interface Pair extends AsyncDisposable {
  /** As the API has it. */
  socket: ClientSocket;
  client: TestSocket;
  /** The client's socket: while it is paused, the client reads nothing. */
  connection: Socket;
}

/** A socket of a real server, and its client. */
export async function openPair(): Promise<Pair> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const io: SocketServer = new Server(server);
  const accepted = once(io, 'connection');
  // A TCP server's address is never a string.
  const client = await openSocket(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, undefined);
  const [socket]: ClientSocket[] = await accepted;
  if (!socket) throw new Error('There is no connection');
  socket.data = {
    userID: newID(),
    ip: '127.0.0.1',
    rooms: new Map(),
    feeds: new Map(),
    waiting: [],
    events: { count: 0, until: 0 },
  };
  const connection = connectionOf(client);
  return {
    socket,
    client,
    connection,
    async [Symbol.asyncDispose]() {
      connection.destroy();
      await io.close();
      server.closeAllConnections();
    },
  };
}

/** The TCP connection of a client: undeclared fields of engine.io-client and ws. */
function connectionOf({ raw }: TestSocket): Socket {
  return (raw.io.engine as unknown as { transport: { ws: { _socket: Socket } } }).transport.ws._socket;
}

/** Bytes that the process holds for a client: undeclared fields of engine.io. */
export function bufferedFor({ conn }: ClientSocket): number {
  const { writeBuffer, transport } = conn as unknown as {
    writeBuffer: { data: string }[];
    transport: { socket: { bufferedAmount: number } };
  };
  return transport.socket.bufferedAmount + writeBuffer.reduce((sum, { data }) => sum + data.length, 0);
}
