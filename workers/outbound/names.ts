import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { LRUCache } from 'lru-cache';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { currentFlow } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import { maxEntries } from '#shared/core/lru.ts';
import { type Hosts, namesToTry, parseHosts, parseSearch, type Search } from './resolver-files.ts';
import { unlessAborted } from './unless-aborted.ts';

/** Resolves a host name to all its addresses, IPv4 first. */
export type Lookup = (host: string, signal?: AbortSignal) => Promise<string[]>;

interface NameOptions {
  /** Name servers, in the form of `Resolver.setServers`. Default: those of the system. */
  servers?: readonly string[];
  /** Limit of one lookup, all name servers and attempts included. */
  timeoutMs?: number;
  maxConcurrent?: number;
}

/** Timeout of one attempt at one server; c-ares doubles it with each attempt. */
const ATTEMPT = { timeout: 1_000, tries: 3 };
/** How much longer than IPv4 addresses a lookup waits for IPv6 ones. */
const GRACE_MS = 100;
/** Time for which the hosts file and resolv.conf are cached. */
const FILES_MS = 5_000;
/** Limits of the cache and of the time for which it uses an answer; `noneMs` for a name that does not exist. */
const CACHE = { max: 10_000, minMs: 1_000, maxMs: 300_000, noneMs: 5_000 };

/**
 * Resolves names without `getaddrinfo`, which occupies a thread of the pool until its name servers have answered, and the pool has
 * four, which files and cryptography need as well: four tenants with a silent name server would stop all lookups for 20 s. Reads the
 * hosts file and the search list as `getaddrinfo` does; modules of nsswitch are not asked.
 */
export function createNames({ servers, timeoutMs = 5_000, maxConcurrent = 64 }: NameOptions = {}): Lookup {
  const lookups = createSemaphore({
    permits: maxConcurrent,
    maxPerTenant: Math.ceil(maxConcurrent / 4),
    dynamicLimit: 1,
  });
  const known = new LRUCache<string, Found>(maxEntries(CACHE.max));
  const underWay = new Map<string, Promise<Found>>();
  const files = rememberFiles();

  async function find(name: string, signal: AbortSignal | undefined): Promise<Found> {
    const cached = known.get(name);
    if (cached) return cached;
    const flow = currentFlow();
    if (!lookups.tryAcquire(flow) && !(await lookups.acquire(flow, signal))) throw signal?.reason ?? tooLate(name);
    try {
      return await (underWay.get(name) ?? begin(name));
    } finally {
      lookups.release(flow);
    }
  }

  /** Other lookups of the name wait for this one, so no caller's signal ends it; its own time limit does. */
  function begin(name: string): Promise<Found> {
    const pending = ask(name).finally(() => underWay.delete(name));
    underWay.set(name, pending);
    return pending;
  }

  async function ask(name: string): Promise<Found> {
    const found = await askServers(name, { servers, timeoutMs });
    const ms = found.addresses.length === 0 ? CACHE.noneMs : Math.min(Math.max(found.ttlMs, CACHE.minMs), CACHE.maxMs);
    known.set(name, found, { ttl: ms });
    return found;
  }

  async function lookup(host: string, signal: AbortSignal | undefined): Promise<string[]> {
    const { hosts, search } = await files();
    const name = /^[\w.-]*$/.test(host) ? host.toLowerCase() : domainToASCII(host);
    // `domainToASCII` reads a URL, and would drop what follows a slash.
    if (!isName(name) || /[/?#@:\\]/.test(host)) throw noHost(host);
    const local = hosts.get(name.replace(/\.$/, '')) ?? loopbackOf(name);
    if (local) return local;
    for (const candidate of namesToTry(name, search)) {
      const { addresses } = await find(candidate, signal);
      if (addresses.length > 0) return addresses;
    }
    throw noHost(host);
  }

  return async (host, signal) => {
    const address = addressOf(host);
    if (address !== undefined) return [address];
    return await (signal ? unlessAborted(signal, lookup(host, signal)) : lookup(host, undefined));
  };
}

interface Found {
  /** Empty if there is no such name. */
  addresses: string[];
  ttlMs: number;
}

interface Answered {
  address: string;
  ttl: number;
}

/** Asks the name servers. Each lookup has a resolver of its own, because `cancel` ends all lookups of a resolver. */
async function askServers(
  name: string,
  { servers, timeoutMs }: { servers: readonly string[] | undefined; timeoutMs: number },
): Promise<Found> {
  const resolver = new Resolver(ATTEMPT);
  if (servers) resolver.setServers(servers);
  const timer = setTimeout(() => resolver.cancel(), timeoutMs);
  let grace: NodeJS.Timeout | undefined;
  const v4 = resolver.resolve4(name, { ttl: true });
  const v6 = resolver.resolve6(name, { ttl: true });
  v4.then(
    () => {
      grace = setTimeout(() => resolver.cancel(), GRACE_MS);
    },
    () => undefined,
  );
  try {
    return combine(name, await Promise.allSettled([v4, v6]));
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
  }
}

function combine(name: string, results: readonly PromiseSettledResult<Answered[]>[]): Found {
  const answered = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  if (answered.length > 0)
    return {
      addresses: answered.map(({ address }) => address),
      ttlMs: Math.min(...answered.map(({ ttl }) => ttl)) * 1_000,
    };
  const failure = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : [])).find(isNoAnswer);
  if (!failure) return { addresses: [], ttlMs: 0 };
  if (late.has(codeOf(failure))) throw tooLate(name, failure);
  throw new AppError('UPSTREAM_FAILED', `No name server could resolve ${name}`, {
    cause: failure,
    details: { reason: 'unreachable' },
  });
}

/** Codes that say that the name, or an address of this kind, does not exist. */
const none: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);
const late: ReadonlySet<string> = new Set(['ETIMEOUT', 'ECANCELLED']);

function isNoAnswer(error: unknown): boolean {
  return !none.has(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** An address in any notation, such as 2130706433 and 0x7f.1, which the system would connect to; undefined for a name. */
function addressOf(host: string): string | undefined {
  if (isIP(host) !== 0) return host;
  if (!/^(0x[0-9a-f]*|\d+)(\.(0x[0-9a-f]*|\d+)){0,3}\.?$/i.test(host)) return undefined;
  const { hostname } = URL.parse(`http://${host}/`) ?? {};
  if (hostname === undefined || isIP(hostname) === 0) throw noHost(host);
  return hostname;
}

function isName(host: string): boolean {
  return host.length <= 254 && /^([\w-]{1,63}\.)*[\w-]{1,63}\.?$/.test(host);
}

/** Names that never stand for another machine (RFC 6761). */
function loopbackOf(name: string): string[] | undefined {
  return /(^|\.)localhost\.?$/.test(name) ? ['127.0.0.1', '::1'] : undefined;
}

/** Reads the files again when the first lookup after some time needs them. */
function rememberFiles(): () => Promise<{ hosts: Hosts; search: Search }> {
  let files: Promise<{ hosts: Hosts; search: Search }> | undefined;
  let asOf = Number.NEGATIVE_INFINITY;

  async function read(path: string): Promise<string> {
    return await readFile(path, 'utf8').catch(() => '');
  }

  return () => {
    if (files && performance.now() - asOf < FILES_MS) return files;
    asOf = performance.now();
    files = Promise.all([read('/etc/hosts'), read('/etc/resolv.conf')]).then(([hosts, resolver]) => ({
      hosts: parseHosts(hosts),
      search: parseSearch(resolver),
    }));
    return files;
  };
}

function noHost(host: string, cause?: unknown): AppError {
  return new AppError('UPSTREAM_FAILED', `There is no host ${host}`, { cause, details: { reason: 'unreachable' } });
}

function tooLate(name: string, cause?: unknown): AppError {
  return new AppError('UPSTREAM_TIMEOUT', `The name ${name} was not resolved in time`, {
    cause,
    details: { reason: 'timeout' },
  });
}
