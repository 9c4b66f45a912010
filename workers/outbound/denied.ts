import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Network, ServerAddress } from '#shared/core/setting-formats.ts';
import { familyOf, isPublic, isWithin, networksOf, translated } from './addresses.ts';

/** Networks and servers that tenants' connections never reach, although OUTBOUND_ALLOW may cover them. */
export interface Denied {
  networks: readonly Network[];
  servers: readonly DeniedServer[];
}

export interface DeniedServer extends ServerAddress {
  /** Whether a public address is denied only if it is this machine's: others may belong to a proxy, which serves other hosts as well. */
  unlessPublic?: boolean;
}

/** Time for which addresses are cached: short, because a server may move; long enough that a burst of connections needs one lookup. */
const KNOWN_MS = 10_000;

/** Makes a function that finds, for one port, which addresses are denied. It looks up only the names of servers with that port. */
export function createDenied(
  { networks, servers }: Denied = { networks: [], servers: [] },
  lookupAll: (host: string) => Promise<string[]>,
): (port: number) => Promise<(address: string) => boolean> {
  const everyPort = networksOf(networks);
  const known = servers.map((server) => ({ ...server, find: rememberAddresses(server.host, lookupAll) }));
  const machine = rememberMachine();

  return async (port) => {
    const lists = await Promise.all(
      known
        .filter((server) => server.port === port)
        .map(async ({ find, unlessPublic = false }) => {
          const machineAddresses = machine();
          const addresses = await find();
          const deniedAddresses = addresses?.filter(
            (found) => !unlessPublic || !isPublic(found) || isWithin(machineAddresses, found),
          );
          // A server that listens on one address of this machine may listen on all of them.
          if (deniedAddresses?.some((found) => isWithin(machineAddresses, found)))
            return (address: string) => isWithin(machineAddresses, address);
          // A server whose name was never found may be at any private address.
          return deniedAddresses ? isOneOf(deniedAddresses) : (address: string) => !isPublic(address);
        }),
    );
    const isListed = (address: string) => isWithin(everyPort, address) || lists.some((isOn) => isOn(address));
    return (address) => [address, translated(address) ?? address].some(isListed);
  };
}

function isOneOf(addresses: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const address of addresses) list.addAddress(address, familyOf(address));
  return (address) => isWithin(list, address);
}

/** Looks up the addresses of a host and caches them. After a failed lookup, returns the last ones; undefined before the first success. */
function rememberAddresses(
  host: string,
  lookupAll: (host: string) => Promise<string[]>,
): () => Promise<string[] | undefined> {
  let found = isIP(host) === 0 ? undefined : [host];
  let asOf = isIP(host) === 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  let asked: Promise<void> | undefined;

  async function ask(): Promise<void> {
    found = await lookupAll(host).catch(() => found);
    asOf = performance.now();
    asked = undefined;
  }

  return async () => {
    if (performance.now() - asOf < KNOWN_MS) return found;
    asked ??= ask();
    await asked;
    return found;
  };
}

/** All addresses that lead to this machine. A connection to an unspecified address goes to loopback. */
function rememberMachine(): () => BlockList {
  let list = new BlockList();
  let asOf = Number.NEGATIVE_INFINITY;

  return () => {
    if (performance.now() - asOf < KNOWN_MS) return list;
    list = networksOf(everyMachine);
    for (const { address } of Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []))
      list.addAddress(address, familyOf(address));
    asOf = performance.now();
    return list;
  };
}

const everyMachine: readonly Network[] = [
  { address: '127.0.0.0', prefix: 8, family: 'ipv4' },
  { address: '0.0.0.0', prefix: 8, family: 'ipv4' },
  { address: '::1', prefix: 128, family: 'ipv6' },
  { address: '::', prefix: 128, family: 'ipv6' },
];
