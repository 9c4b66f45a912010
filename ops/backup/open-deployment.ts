import type { Logger } from '#shared/core/logger.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { type Backplane, createBackplane } from '#shared/messaging/backplane/index.ts';
import { type Config, readConfig } from '#shared/process/config.ts';
import { createTenantServers, type TenantServers } from '#workers/tenant-database/servers/servers.ts';

/** A deployment as backups and restores need it. */
export interface Deployment extends AsyncDisposable {
  config: Config;
  logger: Logger;
  pool: Pool;
  backplane: Backplane;
  servers: TenantServers;
}

export async function openDeployment(env: Record<string, string | undefined>): Promise<Deployment> {
  const config = readConfig(env);
  const logger = createLogger({ level: 'error' }, { process: 'backup' });
  await using resources = new AsyncDisposableStack();
  const pool = createPool(config.db, logger, { max: 4, name: 'gantry.backup' });
  resources.defer(() => pool.end());
  const backplane = resources.use(await createBackplane(config.backplane, logger));
  const { messages } = backplane;
  const servers = resources.use(createTenantServers({ pool, messages, config: config.tenantDatabases, logger }));
  const owned = resources.move();
  return { config, logger, pool, backplane, servers, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
