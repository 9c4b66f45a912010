import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

export interface UpgradeProxy extends AsyncDisposable {
  readonly url: string;
  /** How many upgrades it was asked for. */
  readonly upgrades: number;
  /** Refuses the upgrades that it holds, and all later ones. */
  refuse(): void;
}

/** A proxy of HTTP that lets no connection be upgraded: it refuses the attempt, or leaves it without an answer (`holds`). */
export async function startUpgradeProxy(url: string, { holds = false } = {}): Promise<UpgradeProxy> {
  const target = new URL(url);
  const open = new Set<Duplex>();
  let isWaiting = holds;
  let upgrades = 0;
  const server: Server = createServer((incoming, answer) => {
    const { method, url: path, headers } = incoming;
    const passed = request({ host: target.hostname, port: target.port, method, path, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  server.on('upgrade', (_request: IncomingMessage, socket: Duplex) => {
    upgrades += 1;
    socket.on('error', () => undefined);
    if (isWaiting) open.add(socket);
    else refuse(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const refuseOpen = () => {
    isWaiting = false;
    for (const socket of open) refuse(socket);
    open.clear();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get upgrades() {
      return upgrades;
    },
    refuse: refuseOpen,
    async [Symbol.asyncDispose]() {
      refuseOpen();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function refuse(socket: Duplex): void {
  socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
}
