import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TCPProxy extends AsyncDisposable {
  /** The URL of the same server, through the proxy. */
  readonly url: string;
  /** How many connections it has refused. */
  readonly refused: number;
  /** A partition that swallows packets: open connections stay and carry nothing, new ones are accepted and carry nothing. */
  silence(): void;
  /** A failover that says nothing: open connections stay and carry nothing, new ones work. `heal` does not bring them back. */
  lose(): void;
  /** Breaks all connections and refuses new ones. */
  cut(): void;
  /** Ends either; what was sent meanwhile arrives. */
  heal(): void;
}

/** The network between two processes, which can be broken. */
export async function startTCPProxy(url: string): Promise<TCPProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const lost = new Set<Socket>();
  let state: 'open' | 'silent' | 'cut' = 'open';
  let refused = 0;

  const server = createServer((client) => {
    if (state === 'cut') {
      refused += 1;
      return void client.destroy();
    }
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
      if (state === 'silent') from.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const { port } = server.address() as AddressInfo;
  return {
    url: Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    get refused() {
      return refused;
    },
    silence() {
      state = 'silent';
      for (const socket of sockets) socket.pause();
    },
    lose() {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
        lost.add(socket);
      }
      sockets.clear();
    },
    cut() {
      state = 'cut';
      for (const socket of sockets) socket.destroy();
    },
    heal() {
      state = 'open';
      for (const socket of sockets) socket.resume();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.union(lost)) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
