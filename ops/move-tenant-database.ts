/**
 * `npm run move-tenant-database -- <tenantID> <server>`: moves a database that Gantry has created to another server of
 * TENANT_DATABASES_URL (`ops/guides/tenant-databases.md`). Work of the tenant on it waits meanwhile. Without DATABASE_URL it works
 * on the embedded Gantry of this folder, while that runs.
 */

import { createLogger } from '#shared/core/logger.ts';
import { createPool } from '#shared/db/pool.ts';
import { requireSchema } from '#shared/entities/schema.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { openKeyRing } from '#shared/process/open-key-ring.ts';
import { describeFailure } from '#shared/process/start-failure.ts';
import { moveDatabase } from '#workers/tenant-database/databases/move.ts';
import { createTenantServers } from '#workers/tenant-database/servers/servers.ts';
import { commandEnvironment } from './embedded/command-environment.ts';

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(describeFailure(error));
  process.exitCode = 1;
}

async function main([tenantID, target]: string[]): Promise<void> {
  if (!tenantID || !target)
    throw new Error('Usage: npm run move-tenant-database -- <tenantID> <name of a server in TENANT_DATABASES_URL>');
  const config = readConfig(await commandEnvironment());
  const logger = createLogger(config.log, { process: 'move-tenant-database' });
  await using resources = new AsyncDisposableStack();
  const pool = createPool(config.db, logger, { max: 3, name: 'gantry.move-tenant-database' });
  resources.defer(() => pool.end());
  await requireSchema(pool, logger);
  const { messages } = resources.use(await createBackplane(config.backplane, logger));
  const servers = resources.use(createTenantServers({ pool, messages, config: config.tenantDatabases, logger }));
  const secrets = await openKeyRing(config.secrets.keys, pool);
  const needs = { pool, servers, secrets, logger, programs: config.tenantDatabases.programs };
  await moveDatabase({ tenantID, target }, needs);
  logger.info({ tenantID, server: target }, 'the database has been moved');
}
