import { createKeyRing } from '#shared/core/key-ring.ts';
import type { PostgresConnection } from '#workers/connections/postgresql/connection.ts';
import { createOutbound } from '#workers/outbound/gate.ts';
import { deniedBy } from '#workers/outbound/own-addresses.ts';
import { createTenantDatabases, type TenantDatabases } from '#workers/tenant-database/databases/databases.ts';
import { workOffRemovals } from '#workers/tenant-database/databases/removals.ts';
import { createTenantServers, type TenantServers } from '#workers/tenant-database/servers/servers.ts';
import { type Deployment, startDeployment } from './deployment.ts';
import { testLogger } from './environment.ts';

export interface TestDatabases extends AsyncDisposable {
  deployment: Deployment;
  databases: TenantDatabases & { servers: TenantServers };
  /** In the database of the deployment's one tenant. */
  use<T>(work: (client: PostgresConnection) => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** A worker's access to the databases of tenants, without the worker. */
export async function aTenantDatabases(settings: Record<string, string> = {}): Promise<TestDatabases> {
  const deployment = await startDeployment(settings);
  const databases = databasesOf(deployment);
  return {
    deployment,
    databases,
    use: (work, signal = AbortSignal.timeout(60_000)) => databases.withConnection(deployment.tenantID, signal, work),
    async [Symbol.asyncDispose]() {
      await databases[Symbol.asyncDispose]();
      await deployment[Symbol.asyncDispose]();
    },
  };
}

/** As another worker process of the same deployment has it. */
export function databasesOf({ pool, config, backplane }: Deployment): TenantDatabases & { servers: TenantServers } {
  const servers = createTenantServers({
    pool,
    messages: backplane.messages,
    config: config.tenantDatabases,
    logger: testLogger,
  });
  const databases = createTenantDatabases({
    pool,
    secrets: createKeyRing(config.secrets.keys),
    outbound: createOutbound({ allow: config.outbound.allow, deny: deniedBy(config) }),
    servers,
  });
  return {
    withConnection: databases.withConnection,
    servers,
    async [Symbol.asyncDispose]() {
      await databases[Symbol.asyncDispose]();
      await servers[Symbol.asyncDispose]();
    },
  };
}

/** Drops the databases of deleted tenants, as every worker does; returns how many. */
export async function removeDatabases({
  deployment: { pool },
  databases: { servers },
}: TestDatabases): Promise<number> {
  return await workOffRemovals({ pool, servers, logger: testLogger });
}
