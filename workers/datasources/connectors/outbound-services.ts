import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { StoredFiles } from '#shared/datasources/files/files.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Config } from '#shared/process/config.ts';
import { createOutboundFetch, type OutboundFetch } from '../../outbound/fetch.ts';
import { createOutbound, type Outbound } from '../../outbound/gate.ts';
import { deniedBy, type OwnSettings } from '../../outbound/own-addresses.ts';
import { createTenantDatabases, type TenantDatabases } from '../../tenant-database/databases/databases.ts';
import type { TenantServers } from '../../tenant-database/servers/servers.ts';
import { createFiles, type Files } from '../files/files.ts';
import { createOAuthConnections, type OAuthConnections } from '../oauth/connections.ts';

/** Everything by which a worker reaches outside the deployment's own stores. */
export interface OutboundServices {
  /** The gate that every connection passes. */
  readonly outbound: Outbound;
  /** HTTP through the gate. */
  readonly fetch: OutboundFetch;
  readonly files: Files;
  readonly oauthConnections: OAuthConnections;
  readonly tenantDatabases: TenantDatabases;
  /** The tenant to which an operator has assigned a syslog port of this worker, by port. */
  readonly syslogPorts: ReadonlyMap<number, string>;
}

interface ReachNeeds {
  pool: Pool;
  secrets: KeyRing;
  servers: TenantServers;
  /** Bytes of tenants' files. */
  stored: StoredFiles;
  config: OwnSettings & Pick<Config, 'outbound' | 'oauth' | 'syslogPorts'>;
  logger: Logger;
}

export async function createOutboundServices({
  pool,
  secrets,
  servers,
  stored,
  config,
  logger,
}: ReachNeeds): Promise<OutboundServices & AsyncDisposable> {
  await using resources = new AsyncDisposableStack();
  const outbound = createOutbound({ allow: config.outbound.allow, deny: deniedBy(config) });
  const files = resources.use(await createFiles({ pool, files: stored, logger }));
  const tenantDatabases = resources.use(createTenantDatabases({ pool, secrets, outbound, servers }));
  const fetch = resources.use(createOutboundFetch(outbound));
  const { providers } = config.oauth;
  const oauthConnections = resources.use(createOAuthConnections({ pool, secrets, providers, fetch, logger }));
  const owned = resources.move();
  return {
    outbound,
    fetch,
    files,
    oauthConnections,
    tenantDatabases,
    syslogPorts: config.syslogPorts,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
