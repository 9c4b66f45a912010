import { once } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
import type { Network, ServerAddress } from '#shared/core/setting-formats.ts';
import { isPublic, isWithin, networksOf, translated } from './addresses.ts';
import { createDenied, type Denied } from './denied.ts';
import { createNames, type Lookup } from './names.ts';
import { unlessAborted } from './unless-aborted.ts';
import { formatAddress, ownAddressError, reasonOf, upstreamError } from './upstream-error.ts';

/** The only way to outside addresses: a host that a tenant names must resolve to a public address, or to one that the deployment
 * allows; never to a server of the deployment itself. */
export interface Outbound {
  /**
   * The permitted addresses of a host name for this port, at least one. Connect to one of these only: a second lookup may give
   * another address.
   */
  resolve(server: ServerAddress, signal: AbortSignal): Promise<string[]>;
  /** Connects to the first permitted address that answers, for drivers that take a socket. */
  connect(server: ServerAddress, signal: AbortSignal): Promise<Socket>;
}

interface OutboundRules {
  /** Networks that are reached although they are not public. */
  allow: readonly Network[];
  /** Networks and servers that are never reached, allowed or not. */
  deny?: Denied;
}

const CONNECT_MS = 5_000;

export function createOutbound({ allow, deny }: OutboundRules, lookupAll: Lookup = createNames()): Outbound {
  const allowed = networksOf(allow);
  const denied = createDenied(deny, lookupAll);

  function isAllowable(address: string): boolean {
    const inside = translated(address);
    if (inside !== undefined && !isAllowable(inside)) return false;
    return isWithin(allowed, address) || isPublic(address);
  }

  async function resolve({ host, port }: ServerAddress, signal: AbortSignal): Promise<string[]> {
    // Numbers such as 2130706433 and 0x7f.1 stand for addresses as well, so addresses are checked after the lookup.
    const addresses = await unlessAborted(signal, lookupAll(host, signal));
    const allowable = addresses.filter(isAllowable);
    // Thrown before the deployment's own servers are checked, so that the error for another private address does not tell where they are.
    if (allowable.length === 0) throw upstreamError('not-allowed', host);
    const isDenied = await unlessAborted(signal, denied(port));
    const permitted = allowable.filter((address) => !isDenied(address));
    if (permitted.length === 0) throw ownAddressError(formatAddress(host, port));
    return permitted;
  }

  return {
    resolve,
    async connect({ host, port }, signal) {
      let failure: unknown;
      for (const address of await resolve({ host, port }, signal)) {
        try {
          return await connectTo(address, port, signal);
        } catch (error) {
          failure = error;
        }
      }
      throw upstreamError(
        signal.aborted ? 'timeout' : (reasonOf(failure) ?? 'unreachable'),
        formatAddress(host, port),
        failure,
      );
    },
  };
}

async function connectTo(address: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connectSocket({ host: address, port, noDelay: true });
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]) });
    return socket;
  } catch (error) {
    socket.destroy();
    if (error instanceof Error && error.name === 'AbortError') throw Object.assign(error, { code: 'ETIMEDOUT' });
    throw error;
  }
}
