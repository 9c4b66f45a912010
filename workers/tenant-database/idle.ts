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

interface Own {
  /** Of the database that was asked for last: what comes back from another is of no use any more. */
  key: string;
  kept: Set<Kept>;
}

export function createIdleConnections(idleMs: number): IdleConnections {
  const byTenant = new Map<string, Own>();
  let closed = false;

  const close = (client: TenantClient) => client[Symbol.asyncDispose]();

  function withdraw(own: Own, kept: Kept): TenantClient {
    own.kept.delete(kept);
    kept.drop();
    return kept.client;
  }

  return {
    take(tenantID, key) {
      const own = byTenant.get(tenantID) ?? { key, kept: new Set() };
      byTenant.set(tenantID, own);
      own.key = key;
      for (const kept of own.kept) {
        const client = withdraw(own, kept);
        if (kept.key === key) return client;
        void close(client);
      }
      return undefined;
    },
    keep(tenantID, key, client) {
      const own = byTenant.get(tenantID);
      if (closed || own?.key !== key) return void close(client);
      const discard = () => {
        void close(withdraw(own, kept));
        if (own.kept.size === 0 && byTenant.get(tenantID) === own) byTenant.delete(tenantID);
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
      own.kept.add(kept);
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      const clients = [...byTenant.values()].flatMap((own) => [...own.kept].map((kept) => withdraw(own, kept)));
      byTenant.clear();
      await Promise.all(clients.map(close));
    },
  };
}
