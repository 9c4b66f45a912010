import { hash } from 'node:crypto';
import type { JsonObject } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { AnyDatasource } from '#shared/datasources/types/index.ts';
import type { Connection } from './connection.ts';

type AnyConnection = Connection<AnyDatasource>;

/** Identifies a datasource together with its options: with other options it has other connections. */
export interface ConnectionKey {
  tenantID: string;
  /** Null for a datasource that is not stored, whose connections are not cached. */
  datasourceID: string | null;
  type: string;
  /** Options in clear; only a digest of them is cached. */
  options: JsonObject;
}

/** Cache of open datasources, which are closed after an idle time. */
export interface ConnectionCache extends AsyncDisposable {
  use<T>(
    key: ConnectionKey,
    open: () => Promise<AnyConnection>,
    work: (connection: AnyConnection) => Promise<T>,
  ): Promise<T>;
  /** Closes the connections of a datasource as soon as no call uses them. */
  forget(tenantID: string, datasourceID: string): void;
  readonly size: number;
}

interface Entry {
  key: ConnectionKey;
  digest: string;
  opened: Promise<AnyConnection>;
  users: number;
  lastUsed: number;
  /** Whether it gets no more calls, and is closed after the present ones. */
  isRetired: boolean;
}

interface Limits {
  /** Datasources of one tenant that stay open. */
  maxPerTenant: number;
  idleMs: number;
}

export function createConnectionCache(
  logger: Logger,
  { maxPerTenant, idleMs }: Limits = { maxPerTenant: 10, idleMs: 60_000 },
): ConnectionCache {
  const entries = new Set<Entry>();
  const timer = setInterval(sweep, Math.min(idleMs, 10_000)).unref();

  function sweep(): void {
    const before = performance.now() - idleMs;
    for (const entry of entries) if (entry.users === 0 && entry.lastUsed < before) retire(entry);
  }

  function retire(entry: Entry): void {
    entry.isRetired = true;
    if (entry.users > 0) return;
    entries.delete(entry);
    entry.opened
      .then((connection) => connection[Symbol.asyncDispose]())
      .catch((error: unknown) => logger.debug({ err: error, type: entry.key.type }, 'a datasource did not close well'));
  }

  function find(key: ConnectionKey, digest: string): Entry | undefined {
    for (const entry of entries) {
      const { tenantID, datasourceID } = entry.key;
      if (entry.isRetired || tenantID !== key.tenantID || datasourceID !== key.datasourceID) continue;
      if (entry.digest === digest) return entry;
      retire(entry);
    }
    return undefined;
  }

  /** Closes the tenant's connection that has been idle longest. */
  function evictOldest(tenantID: string): void {
    const own = [...entries].filter((entry) => entry.key.tenantID === tenantID && !entry.isRetired);
    if (own.length < maxPerTenant) return;
    const [oldest] = own.filter(({ users }) => users === 0).sort((a, b) => a.lastUsed - b.lastUsed);
    if (oldest) retire(oldest);
  }

  function findOrOpen(key: ConnectionKey, open: () => Promise<AnyConnection>): Entry {
    const digest = hash('sha256', JSON.stringify([key.type, key.options]));
    const cached = key.datasourceID === null ? undefined : find(key, digest);
    if (cached) return cached;
    evictOldest(key.tenantID);
    // The options are not cached: the digest is enough to compare them.
    const entry: Entry = {
      key: { ...key, options: {} },
      digest,
      opened: open(),
      users: 0,
      lastUsed: performance.now(),
      isRetired: key.datasourceID === null,
    };
    entries.add(entry);
    // After a failed opening the next call tries again.
    entry.opened.catch(() => {
      entry.isRetired = true;
      entries.delete(entry);
    });
    return entry;
  }

  return {
    async use(key, open, work) {
      const entry = findOrOpen(key, open);
      entry.users += 1;
      try {
        return await work(await entry.opened);
      } finally {
        entry.users -= 1;
        entry.lastUsed = performance.now();
        if (entry.isRetired && entries.has(entry)) retire(entry);
      }
    },
    forget(tenantID, datasourceID) {
      for (const entry of entries)
        if (entry.key.tenantID === tenantID && entry.key.datasourceID === datasourceID) retire(entry);
    },
    get size() {
      return entries.size;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      const all = [...entries];
      entries.clear();
      await Promise.allSettled(all.map(async ({ opened }) => (await opened)[Symbol.asyncDispose]()));
    },
  };
}
