import type { TenantClient } from './open.ts';

/** Connections that nobody uses at the moment, by whose they are. */
export interface IdleConnections extends AsyncDisposable {
  /** One to the database of this key; those of the tenant to another are closed. */
  take(tenantID: string, key: string): TenantClient | undefined;
  keep(tenantID: string, key: string, client: TenantClient): void;
}

interface Kept {
  key: string;
  client: TenantClient;
  drop(): void;
}

export function createIdleConnections(idleMs: number): IdleConnections {
  const byTenant = new Map<string, Set<Kept>>();
  let closed = false;

  function remove(tenantID: string, kept: Kept): void {
    const all = byTenant.get(tenantID);
    all?.delete(kept);
    if (all?.size === 0) byTenant.delete(tenantID);
    kept.drop();
  }

  const close = (client: TenantClient) => client[Symbol.asyncDispose]();

  return {
    take(tenantID, key) {
      for (const kept of byTenant.get(tenantID) ?? []) {
        remove(tenantID, kept);
        if (kept.key === key) return kept.client;
        void close(kept.client);
      }
      return undefined;
    },
    keep(tenantID, key, client) {
      if (closed) return void close(client);
      const discard = () => {
        remove(tenantID, kept);
        void close(client);
      };
      const timer = setTimeout(discard, idleMs).unref();
      const kept: Kept = {
        key,
        client,
        drop() {
          clearTimeout(timer);
          client.off('end', discard);
        },
      };
      client.on('end', discard);
      const all = byTenant.get(tenantID) ?? new Set();
      byTenant.set(tenantID, all.add(kept));
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      const all = [...byTenant].flatMap(([tenantID, kept]) => [...kept].map((one) => ({ tenantID, one })));
      for (const { tenantID, one } of all) remove(tenantID, one);
      await Promise.all(all.map(({ one }) => close(one.client)));
    },
  };
}
