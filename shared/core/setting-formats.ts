import { isIP } from 'node:net';
import { z } from 'zod';
import { isOfAnotherKey, type SecretKey } from './key-ring.ts';
import { NumberText } from './schema/number-text.ts';

export const seconds = (fallback: number) => NumberText(z.number().nonnegative()).prefault(fallback);
export const port = (min: number) => NumberText(z.int({ error: 'must be a port, 1 to 65535' }).min(min).max(65_535));
export const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  );

/** Comma-separated `<keyID>:<32 bytes in base64>`. Error messages give the position of a key, never the key. */
export const keyRing = list.transform((items, check): SecretKey[] => {
  const keys = items.map((item, index) => {
    const [, id = '', text = ''] = /^([\w-]{1,32}):([A-Za-z0-9+/]{43}=)$/.exec(item) ?? [];
    if (!id) check.addIssue(`key ${index + 1} must be <keyID>:<32 bytes in base64>, the keyID letters, digits, _ or -`);
    const key = { id, key: Buffer.from(text, 'base64') };
    if (isOfAnotherKey(key))
      check.addIssue(`key ${index + 1} is not the key of its keyID ${id}, which is a fingerprint`);
    return key;
  });
  if (new Set(keys.map(({ id }) => id)).size < keys.length) check.addIssue('every key must have a keyID of its own');
  return keys;
});

export interface Network {
  address: string;
  prefix: number;
  family: 'ipv4' | 'ipv6';
}

/** A host, by name or address, and one port of it. */
export interface ServerAddress {
  host: string;
  port: number;
}

/** An address or a network (`10.1.2.0/24`); undefined when it is neither. */
export function readNetwork(text: string): Network | undefined {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  const maxPrefix = family === 6 ? 128 : 32;
  const prefix = bits === undefined ? maxPrefix : Number(bits);
  if (family === 0 || prefix > maxPrefix) return undefined;
  return { address, prefix, family: family === 6 ? 'ipv6' : 'ipv4' };
}

/** Comma-separated `<port>=<tenantID>`. */
export const portsOfTenants = list.transform((items, check): ReadonlyMap<number, string> => {
  const pairs = items.map((item): [number, string] => {
    const [, number = '', tenantID = ''] = /^(\d{1,5})=([0-9a-f-]{36})$/.exec(item) ?? [];
    if (!z.uuid().safeParse(tenantID).success || Number(number) < 1 || Number(number) > 65_535)
      check.addIssue(`"${item}" must be <port>=<tenantID>`);
    return [Number(number), tenantID];
  });
  if (new Set(pairs.map(([number]) => number)).size < pairs.length) check.addIssue('every port must have one tenant');
  return new Map(pairs);
});

/** Comma-separated addresses and networks. */
export const networks = list.transform((items, check) =>
  items.flatMap((item) => {
    const network = readNetwork(item);
    if (!network) check.addIssue(`"${item}" must be an IP address or a network such as 10.1.2.0/24`);
    return network ?? [];
  }),
);

/** Comma-separated `host:port`, addresses and networks. A host alone is refused: whether its other ports count would be unclear. */
export const networksAndServers = list.transform((items, check) => {
  const denied: { networks: Network[]; servers: ServerAddress[] } = { networks: [], servers: [] };
  for (const item of items) {
    const network = readNetwork(item);
    const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([\w.-]+)):(\d{1,5})$/.exec(item) ?? [];
    const [host, port] = [bracketed ?? plain, Number(digits)];
    if (network) denied.networks.push(network);
    else if (host && port > 0 && port <= 65_535 && (plain || isIP(host) === 6)) denied.servers.push({ host, port });
    else check.addIssue(`"${item}" must be host:port, an IP address or a network such as 10.1.2.0/24`);
  }
  return denied;
});

/** Name of the deployment's own server in TENANT_DATABASES_URL and in `tenant_database`. */
export const OWN_SERVER = 'DATABASE_URL';

export interface TenantServerAddress {
  /** Stored with each tenant's database, so it has to stay when the server's address changes. */
  name: string;
  url: string;
}

/** Comma-separated `postgres://` URLs, each optionally with a name before it (`east=postgres://…`), or the word DATABASE_URL. */
export const tenantServers = list.transform((items, check): TenantServerAddress[] => {
  const servers = items.map((item, index) => {
    if (item === OWN_SERVER) return { name: OWN_SERVER, url: '' };
    const [, name, url = ''] = /^(?:([a-z0-9][a-z0-9_-]{0,62})=)?(postgres(?:ql)?:\/\/.+)$/.exec(item) ?? [];
    if (!URL.canParse(url)) {
      check.addIssue(`server ${index + 1} must be a postgres:// URL, <name>=<URL> or the word ${OWN_SERVER}`);
      return { name: String(index), url };
    }
    return { name: name ?? hostAndPort(url), url };
  });
  if (new Set(servers.map(({ name }) => name)).size < servers.length)
    check.addIssue('every server must have a name of its own');
  return servers;
});

export function hostAndPort(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port || 5432}`;
}
