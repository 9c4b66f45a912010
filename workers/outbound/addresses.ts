import { BlockList, isIP } from 'node:net';
import type { Network } from '#shared/core/setting-formats.ts';

export function isPublic(address: string): boolean {
  // An address with a zone belongs to an interface of this machine.
  if (address.includes('%')) return false;
  if (isIP(address) === 4) return !isWithin(reserved, address);
  // An IPv4-mapped address is as public as its IPv4 address; others must be global unicast.
  if (isWithin(mapped, address)) return !isWithin(reserved, address);
  if (isWithin(nat64, address)) return isPublic(translated(address) ?? '');
  return isWithin(globalUnicast, address) && !isWithin(reserved, address);
}

/**
 * The IPv4 address that a router or this machine translates an IPv6 address into: of NAT64 (RFC 6052, RFC 8215) or 6to4 (RFC 3056).
 * If one of the two addresses is refused, the other must be refused, too.
 */
export function translated(address: string): string | undefined {
  if (isIP(address) !== 6 || address.includes('%')) return undefined;
  const isNAT64 = isWithin(nat64, address) || isWithin(localNAT64, address);
  if (!isNAT64 && !isWithin(sixToFour, address)) return undefined;
  const groups = groupsOf(address);
  const [high = 0, low = 0] = isNAT64 ? groups.slice(6) : groups.slice(1, 3);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** The eight numbers of an IPv6 address. The URL parser converts all notations to one, without dots. */
function groupsOf(address: string): number[] {
  const [before = '', after] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const read = (part: string | undefined) => (part ? part.split(':').map((group) => Number.parseInt(group, 16)) : []);
  const [head, tail] = [read(before), read(after)];
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

/** An IPv4-mapped IPv6 address is looked up as the IPv4 address that it is. */
export function isWithin(networks: BlockList, address: string): boolean {
  return networks.check(address, familyOf(address));
}

export function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

export function networksOf(networks: readonly Network[]): BlockList {
  const list = new BlockList();
  for (const { address, prefix, family } of networks) list.addSubnet(address, prefix, family);
  return list;
}

function blockListOf(...names: string[]): BlockList {
  return networksOf(
    names.map((name) => {
      const [address = '', prefix] = name.split('/');
      return { address, prefix: Number(prefix), family: familyOf(address) };
    }),
  );
}

const mapped = blockListOf('::ffff:0:0/96');
const nat64 = blockListOf('64:ff9b::/96');
const localNAT64 = blockListOf('64:ff9b:1::/48');
const sixToFour = blockListOf('2002::/16');
const globalUnicast = blockListOf('2000::/3');

/** Special-purpose registries of IANA: private, shared, loopback, link-local (cloud metadata), documentation, multicast. */
const reserved = blockListOf(
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
