import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { all, compile } from 'proxy-addr';
import { CountMap } from '#shared/core/count-map.ts';
import { networkOf } from '../../auth/network.ts';

/** Limits the connections, and behind proxies the requests, that one client address has open at once. */
export interface ConnectionLimit {
  /**
   * Whether a request that a trusted proxy has sent may begin. It is counted until `end` closes: the connections of a proxy are not
   * those of one client.
   */
  admits(request: IncomingMessage, end: ServerResponse | Socket): boolean;
  /** The address of the client, behind trusted proxies too. */
  clientOf(request: IncomingMessage): string;
  /** The network of the client, behind trusted proxies too; undefined for one that may have any number of connections. */
  addressOf(request: IncomingMessage): string | undefined;
  /**
   * How many sockets of an address may be open without having signed in. The other limits do not see polling sockets
   * between their requests.
   */
  readonly maxUnidentified: number;
}

interface Options {
  /** 0: no limit. */
  maxPerAddress: number;
  trustedProxies: readonly string[];
}

/** Closes further connections of an address at once. Loopback and trusted proxies may have any number. */
export function limitConnections(
  server: Server,
  { maxPerAddress, trustedProxies }: Options,
  onRefused: () => void = () => undefined,
): ConnectionLimit {
  const isTrusted = compile([...trustedProxies]);
  const open = new CountMap();

  function enter(address: string, end: ServerResponse | Socket): boolean {
    const network = networkOf(address);
    if (maxPerAddress === 0 || isLoopback(address)) return true;
    if (open.of(network) >= maxPerAddress) {
      onRefused();
      return false;
    }
    open.add(network, 1);
    end.once('close', () => open.add(network, -1));
    return true;
  }

  server.on('connection', (socket) => {
    const { remoteAddress = '' } = socket;
    if (!isTrusted(remoteAddress, 0) && !enter(remoteAddress, socket)) socket.destroy();
  });

  // From the proxy outwards, up to the first address that is not a trusted proxy's.
  const clientOf = (request: IncomingMessage) => all(request, isTrusted).at(-1) ?? '';

  return {
    clientOf,
    maxUnidentified: Math.ceil(maxPerAddress / 5),
    admits(request, end) {
      if (!isTrusted(request.socket.remoteAddress ?? '', 0)) return true;
      return enter(clientOf(request), end);
    },
    addressOf(request) {
      const address = clientOf(request);
      return maxPerAddress === 0 || isLoopback(address) ? undefined : networkOf(address);
    },
  };
}

function isLoopback(address: string): boolean {
  return /^(::1$|127\.|::ffff:127\.)/.test(address);
}
