import { createHash, createHmac, randomFillSync } from 'node:crypto';

/** Parts of a URL, as code reads them. */
export interface URLParts {
  href: string;
  origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
}

/**
 * Functions of the host that code may call, for what the language lacks. Arguments and results are copied. Code may send anything: a
 * function answers null for what it cannot use, and changes nothing.
 */
export const hostFunctions = {
  digest(algorithm: unknown, data: unknown): ArrayBuffer | null {
    return isAlgorithm(algorithm) && isBytes(data) ? bytesOf(createHash(algorithm).update(data).digest()) : null;
  },
  hmac(algorithm: unknown, key: unknown, data: unknown): ArrayBuffer | null {
    if (!isAlgorithm(algorithm) || !isBytes(key) || !isBytes(data)) return null;
    return bytesOf(createHmac(algorithm, key).update(data).digest());
  },
  random(length: unknown): ArrayBuffer | null {
    const isLength = typeof length === 'number' && Number.isInteger(length) && length >= 0 && length <= MAX_RANDOM;
    return isLength ? bytesOf(randomFillSync(Buffer.alloc(length))) : null;
  },
  decode(label: unknown, data: unknown, fatal: unknown, ignoreBOM: unknown): string | null {
    if (typeof label !== 'string' || !isBytes(data)) return null;
    try {
      return new TextDecoder(label, { fatal: fatal === true, ignoreBOM: ignoreBOM === true }).decode(data);
    } catch {
      return null;
    }
  },
  encodingOf(label: unknown): string | null {
    try {
      return new TextDecoder(String(label)).encoding;
    } catch {
      return null;
    }
  },
  parseURL(text: unknown, base: unknown): URLParts | null {
    if (typeof text !== 'string') return null;
    const url = URL.parse(text, typeof base === 'string' ? base : undefined);
    return url && partsOf(url);
  },
  changeURL(href: unknown, name: unknown, value: unknown): URLParts | null {
    if (typeof href !== 'string' || typeof value !== 'string' || !isSettable(name)) return null;
    const url = URL.parse(href);
    if (!url) return null;
    url[name] = value;
    return partsOf(url);
  },
} as const satisfies Record<string, (...args: never[]) => unknown>;

export type HostFunctions = typeof hostFunctions;

/** Calls a function by its name, which comes from the code as well. */
export function callHost(name: unknown, ...args: [unknown, unknown, unknown, unknown]): unknown {
  if (typeof name !== 'string' || !Object.hasOwn(hostFunctions, name)) return null;
  // Safe: every function checks its arguments itself.
  const call = hostFunctions[name as keyof HostFunctions] as (...given: unknown[]) => unknown;
  return call(...args);
}

/** As many as `getRandomValues` gives at once. */
const MAX_RANDOM = 65_536;

export const ALGORITHMS: readonly string[] = ['md5', 'sha1', 'sha256', 'sha384', 'sha512'];

function isAlgorithm(algorithm: unknown): algorithm is string {
  return ALGORITHMS.some((known) => known === algorithm);
}

function isBytes(value: unknown): value is Uint8Array<ArrayBuffer> {
  return value instanceof Uint8Array;
}

/** Parts of a URL that code may set. */
export const SETTABLE = [
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const;

function isSettable(name: unknown): name is (typeof SETTABLE)[number] {
  return SETTABLE.some((known) => known === name);
}

/** A buffer of its own: a small `Buffer` is a part of a shared one. */
function bytesOf(buffer: Buffer): ArrayBuffer {
  return new Uint8Array(buffer).buffer;
}

function partsOf(url: URL): URLParts {
  const { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash } = url;
  return { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash };
}
