import { isIP } from 'node:net';

/** Addresses by name, of the system's hosts file. */
export type Hosts = ReadonlyMap<string, string[]>;

/** How the system completes short names. */
export interface Search {
  domains: readonly string[];
  /** A name with at least this many dots is tried as it is before the domains are. */
  ndots: number;
}

export function parseHosts(text: string): Hosts {
  const hosts = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = wordsOf(line);
    if (isIP(address) === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      hosts.set(key, [...(hosts.get(key) ?? []), address]);
    }
  }
  for (const addresses of hosts.values()) addresses.sort((a, b) => isIP(a) - isIP(b));
  return hosts;
}

/** Reads `search`, `domain` and `options ndots` of resolv.conf; the last line of a kind counts. */
export function parseSearch(text: string): Search {
  let domains: string[] = [];
  let ndots = 1;
  for (const line of text.split('\n')) {
    const [keyword, ...values] = wordsOf(line);
    if (keyword === 'search' || keyword === 'domain') domains = values.filter((value) => value !== '.');
    if (keyword === 'options')
      for (const value of values) if (value.startsWith('ndots:')) ndots = Math.min(Number(value.slice(6)) || 0, 15);
  }
  return { domains: domains.map((domain) => domain.replace(/\.$/, '')), ndots };
}

/** The names that a host may stand for, in their order. */
export function namesToTry(host: string, { domains, ndots }: Search): string[] {
  if (host.endsWith('.')) return [host.slice(0, -1)];
  const completed = domains.map((domain) => `${host}.${domain}`).filter((name) => name.length <= 253);
  return host.split('.').length - 1 >= ndots ? [host, ...completed] : [...completed, host];
}

function wordsOf(line: string): string[] {
  return line
    .replace(/[#;].*/, '')
    .trim()
    .split(/\s+/);
}
