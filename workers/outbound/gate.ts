import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { BlockList, connect as connectSocket, isIP, type Socket } from 'node:net';
import type { Config } from '#shared/config.ts';
import { AppError } from '#shared/errors.ts';
import { unlessAborted } from './unless-aborted.ts';
import { placeOf, reasonOf, upstreamError } from './upstream-error.ts';

/** The only way to outside addresses: a host that a tenant names must resolve to a public address, or to one that the deployment
 * allows. */
export interface Outbound {
  /**
   * The permitted addresses of a host name, at least one. Connect to one of these only: a second lookup may give another address.
   */
  resolve(host: string, signal: AbortSignal): Promise<string[]>;
  /** Connects to the first permitted address that answers, for drivers that take a socket. */
  connect(address: { host: string; port: number }, signal: AbortSignal): Promise<Socket>;
}

const CONNECT_MS = 5_000;

/** Resolves a host name to all its addresses. */
export type Lookup = (host: string) => Promise<string[]>;

export function createOutbound({ allow }: Config['outbound'], lookupAll: Lookup = addressesOf): Outbound {
  const allowed = new BlockList();
  for (const { address, prefix, family } of allow) allowed.addSubnet(address, prefix, family);

  async function resolve(host: string, signal: AbortSignal): Promise<string[]> {
    // The system's resolver cannot be cancelled.
    const addresses = await unlessAborted(signal, lookupAll(host));
    const permitted = addresses.filter((address) => isWithin(allowed, address) || isPublic(address));
    if (permitted.length === 0) throw upstreamError('not-allowed', host);
    return permitted;
  }

  return {
    resolve,
    async connect({ host, port }, signal) {
      let failure: unknown;
      for (const address of await resolve(host, signal)) {
        try {
          return await connectTo(address, port, signal);
        } catch (error) {
          failure = error;
        }
      }
      throw upstreamError(
        signal.aborted ? 'timeout' : (reasonOf(failure) ?? 'unreachable'),
        placeOf(host, port),
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

async function addressesOf(host: string): Promise<string[]> {
  try {
    // The system's resolver also accepts numbers such as 2130706433 and 0x7f.1, so addresses are checked after the lookup.
    const found = await lookup(host, { all: true, order: 'ipv4first' });
    return found.map(({ address }) => address);
  } catch (cause) {
    throw new AppError('UPSTREAM_FAILED', `There is no host ${host}`, { cause, details: { reason: 'unreachable' } });
  }
}

function isPublic(address: string): boolean {
  // An address with a zone belongs to an interface of this machine.
  if (address.includes('%')) return false;
  if (isIP(address) === 4) return !isWithin(reserved, address);
  // An IPv4-mapped address is as public as its IPv4 address; others must be global unicast.
  if (isWithin(mapped, address)) return !isWithin(reserved, address);
  return isWithin(globalUnicast, address) && !isWithin(reserved, address);
}

/** An IPv4-mapped IPv6 address is looked up as the IPv4 address that it is. */
function isWithin(networks: BlockList, address: string): boolean {
  return networks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

function networksOf(...names: string[]): BlockList {
  const networks = new BlockList();
  for (const name of names) {
    const [address = '', prefix] = name.split('/');
    networks.addSubnet(address, Number(prefix), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return networks;
}

const mapped = networksOf('::ffff:0:0/96');
const globalUnicast = networksOf('2000::/3');

/** Special-purpose registries of IANA: private, shared, loopback, link-local (cloud metadata), documentation, multicast. */
const reserved = networksOf(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
);
