import { BlockList, isIP } from 'node:net';
import type { Network } from '#shared/config.ts';

export function isPublic(address: string): boolean {
  // An address with a zone belongs to an interface of this machine.
  if (address.includes('%')) return false;
  if (isIP(address) === 4) return !isWithin(reserved, address);
  // An IPv4-mapped address is as public as its IPv4 address; others must be global unicast.
  if (isWithin(mapped, address)) return !isWithin(reserved, address);
  return isWithin(globalUnicast, address) && !isWithin(reserved, address);
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

function named(...names: string[]): BlockList {
  return networksOf(
    names.map((name) => {
      const [address = '', prefix] = name.split('/');
      return { address, prefix: Number(prefix), family: familyOf(address) };
    }),
  );
}

const mapped = named('::ffff:0:0/96');
const globalUnicast = named('2000::/3');

/** Special-purpose registries of IANA: private, shared, loopback, link-local (cloud metadata), documentation, multicast. */
const reserved = named(
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
