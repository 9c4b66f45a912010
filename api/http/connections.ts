import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { all, compile } from 'proxy-addr';
import { networkOf } from '../auth/network.ts';

/** Limits what one client address has open at once. */
export interface ConnectionLimit {
  /**
   * Whether a request that a trusted proxy has sent may begin. It is counted until `end` closes: the connections of a proxy are not
   * those of one client.
   */
  admits(request: IncomingMessage, end: ServerResponse | Socket): boolean;
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
  const open = new Map<string, number>();

  function enter(address: string, end: ServerResponse | Socket): boolean {
    const network = networkOf(address);
    const count = (open.get(network) ?? 0) + 1;
    if (maxPerAddress === 0 || isLoopback(address)) return true;
    if (count > maxPerAddress) {
      onRefused();
      return false;
    }
    open.set(network, count);
    end.once('close', () => {
      const left = (open.get(network) ?? 0) - 1;
      if (left > 0) open.set(network, left);
      else open.delete(network);
    });
    return true;
  }

  server.on('connection', (socket) => {
    const { remoteAddress = '' } = socket;
    if (!isTrusted(remoteAddress, 0) && !enter(remoteAddress, socket)) socket.destroy();
  });

  return {
    admits(request, end) {
      if (!isTrusted(request.socket.remoteAddress ?? '', 0)) return true;
      // From the proxy outwards, up to the first address that is not a trusted proxy's.
      return enter(all(request, isTrusted).at(-1) ?? '', end);
    },
  };
}

function isLoopback(address: string): boolean {
  return /^(::1$|127\.|::ffff:127\.)/.test(address);
}
