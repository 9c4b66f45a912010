import { LRUCache } from 'lru-cache';
import { createBatcher } from '../../concurrency/batcher.ts';
import type { Caller } from '../../core/caller.ts';
import type { KeyRing } from '../../core/key-ring.ts';
import { maxEntries } from '../../core/lru.ts';
import { openSecrets } from '../../core/schema/secret.ts';
import { findDatasourceType } from '../../datasources/types/index.ts';
import type { Pool } from '../../db/pool.ts';
import { sealedColumns } from '../../db/sealed-columns.ts';
import { createEndpoints, type Endpoints } from './endpoint-path.ts';
import { ENDPOINTS, LISTENER_VERSIONS, type ListenerRow, READ_LISTENER } from './listener-rows.ts';

/** A listener with the options of its datasource. Shared by all who read it, so it must not be changed. */
export interface ReadListener extends Omit<ListenerRow, 'datasourceOptions'> {
  /**
   * Opens the options, as parsed by the schema of the datasource type. Throws if a secret was sealed with a key that is not here, which
   * concerns only those who need the options: recorded events are processed without them.
   */
  options(): unknown;
}

export interface ListenerReader {
  /** The listener as it is now, also an inactive one. */
  byID(listenerID: string, tenantID?: string): Promise<ReadListener | undefined>;
  /** The listener of a tenant whose path matches, if there are several one that takes the method; not an inactive one. */
  byPath(
    tenantID: string,
    segments: readonly string[],
    method: string,
  ): Promise<{ listener: ReadListener; params: Record<string, string> } | undefined>;
}

interface Lookup {
  tenantID: string | null;
  listenerID: string | null;
}

interface TenantVersion {
  tenantID: string;
  version: number;
}

interface Cached<T> {
  version: number;
  value: T;
}

const MAX = { tenants: 1_000, listeners: 5_000, bytes: 64_000_000 };

/**
 * Reads listeners for requests and for workers. Concurrent lookups share one statement, which reads the version of each tenant's listeners;
 * cached listeners of an older version are read again. So a change takes effect with the next lookup.
 */
export function createListenerReader({ pool, secrets }: { pool: Pool; secrets: KeyRing }): ListenerReader {
  const endpoints = new LRUCache<string, Cached<Promise<Endpoints<string>>>>(maxEntries(MAX.tenants));
  const listeners = new LRUCache<string, Cached<Promise<ReadListener | undefined>>>(maxEntries(MAX.listeners));
  const versionOf = createBatcher((lookups: Lookup[]) => readVersions(pool, lookups));

  /** Concurrent reads of one version share a promise; one that fails is not cached. */
  function readCached<T>(
    cache: LRUCache<string, Cached<Promise<T>>>,
    key: string,
    { version, read }: { version: number; read: () => Promise<T> },
  ): Promise<T> {
    const known = cache.get(key);
    // A newer version is as good: another lookup has read it meanwhile.
    if (known && known.version >= version) return known.value;
    const value = read();
    cache.set(key, { version, value });
    value.catch(() => {
      if (cache.get(key)?.value === value) cache.delete(key);
    });
    return value;
  }

  function readListener(id: string, { tenantID, version }: TenantVersion): Promise<ReadListener | undefined> {
    const read = async () => {
      const { rows } = await pool.query<ListenerRow>({ name: 'listener', text: READ_LISTENER, values: [id, tenantID] });
      return rows[0] && opened(rows[0], secrets);
    };
    return readCached(listeners, id, { version, read });
  }

  return {
    async byID(listenerID, tenantID) {
      const current = await versionOf({ listenerID: tenantID ? null : listenerID, tenantID: tenantID ?? null });
      return current && readListener(listenerID, current);
    },
    async byPath(tenantID, segments, method) {
      const current = await versionOf({ tenantID, listenerID: null });
      if (!current) return undefined;
      const { version } = current;
      const found = (
        await readCached(endpoints, tenantID, { version, read: () => readEndpoints(pool, tenantID) })
      ).find(segments, method);
      const listener = found && (await readListener(found.value, current));
      return listener && { listener, params: found.params };
    },
  };
}

/** Concurrent deliveries are mostly for few tenants, so lookups of one tenant share a row of the statement. */
async function readVersions(pool: Pool, lookups: readonly Lookup[]): Promise<(TenantVersion | undefined)[]> {
  const keys = lookups.map(({ tenantID, listenerID }) => tenantID ?? `listener ${listenerID}`);
  const unique = new Map(lookups.map((lookup, index) => [keys[index] ?? '', lookup]));
  const distinct = [...unique.values()];
  const { rows } = await pool.query<TenantVersion & { n: number }>({
    name: 'listener_versions',
    text: LISTENER_VERSIONS,
    values: [distinct.map(({ tenantID }) => tenantID), distinct.map(({ listenerID }) => listenerID)],
  });
  const byNumber = new Map(rows.map(({ n, ...version }) => [n, version]));
  const byKey = new Map([...unique.keys()].map((key, index) => [key, byNumber.get(index + 1)]));
  return keys.map((key) => byKey.get(key));
}

async function readEndpoints(pool: Pool, tenantID: string): Promise<Endpoints<string>> {
  const { rows } = await pool.query<{ id: string; path: string; method: string }>({
    name: 'listener_endpoints',
    text: ENDPOINTS,
    values: [tenantID],
  });
  return createEndpoints(rows.map(({ id, ...endpoint }) => ({ value: id, ...endpoint })));
}

function opened({ datasourceOptions, ...row }: ListenerRow, secrets: KeyRing): ReadListener {
  const definition = findDatasourceType(row.datasourceType);
  const context = sealedColumns.datasourceOptions.context(row.datasourceID);
  let parsed: unknown;
  return {
    ...row,
    options() {
      parsed ??= definition?.options.parse(openSecrets(definition.options, datasourceOptions, { secrets, context }));
      return parsed;
    },
  };
}

/** The identity that a listener acts under: that of its creator. */
export function callerOfListener({ id, creatorID, createdByApiKeyID }: ReadListener): Caller {
  const own = { userID: creatorID, origin: 'listener' as const, originID: id };
  return createdByApiKeyID
    ? { type: 'apiKey', id: createdByApiKeyID, ...own }
    : { type: 'user', id: creatorID, ...own };
}
