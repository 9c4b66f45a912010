import { resumePropagation } from '#shared/access/propagate-roles.ts';
import { type PeriodicTaskOptions, startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import { isConnectionError } from '#shared/core/errors.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Messages } from '#shared/messaging/backplane/index.ts';
import type { Runs } from '#shared/runs/runs.ts';
import { resumeDeletions, TENANT_DELETED_CHANNEL } from '#shared/tenants/delete-tenant.ts';
import { createCatalogGuard } from '../servers/catalog-guard.ts';
import { createLockGuard } from '../servers/lock-guard.ts';
import { checkServers } from '../servers/rights.ts';
import type { TenantServer, TenantServers } from '../servers/servers.ts';
import { endOrphans } from './orphans.ts';
import { measureDatabases } from './quota.ts';
import { workOffRemovals } from './removals.ts';

interface Needs {
  pool: Pool;
  runs: Runs;
  servers: TenantServers;
  secrets: KeyRing;
  messages: Messages;
  logger: Logger;
}

/**
 * Runs the background jobs of tenants and their databases: deletions, and the servers' housekeeping. Every worker does so;
 * steps share their work by rows that they claim. It is separate from the engine's sweep, because a server that is slow or away must delay
 * no run; and each step has a timer of its own, so that none delays another.
 */
export function createTenantDatabaseReconciler({
  pool,
  runs,
  servers,
  secrets,
  messages,
  logger,
}: Needs): AsyncDisposable {
  const resources = new AsyncDisposableStack();
  const steps: PeriodicTaskOptions[] = [
    {
      name: 'resume deletions',
      everyMs: 60_000,
      run: () =>
        resumeDeletions(pool, runs, (error, tenantID) =>
          logger.warn({ err: error, tenantID }, 'deletion of a tenant failed; it is tried again'),
        ),
    },
    { name: 'check servers', everyMs: 300_000, run: () => checkServers({ pool, servers, logger }) },
    ...servers.listed.map((server) => guardOf(server, resources, logger)),
    { name: 'end lost connections', everyMs: 10_000, run: () => endOrphans({ pool, servers, logger }) },
    {
      name: 'spread roles of the deployment',
      everyMs: 60_000,
      run: () =>
        resumePropagation(pool, (error, ids) =>
          logger.warn({ err: error, ...ids }, 'a role of the deployment was not propagated; it is tried again'),
        ),
    },
    { name: 'measure databases', everyMs: 60_000, run: () => measureDatabases({ pool, servers, secrets, logger }) },
    { name: 'drop databases', everyMs: 10_000, run: () => workOffRemovals({ pool, servers, logger }) },
  ];
  const tasks = steps.map((step) => startPeriodicTask(step, logger));
  const removals = tasks.at(-1);
  const unsubscribe = messages.subscribe(TENANT_DELETED_CHANNEL, () => removals?.trigger());
  return {
    async [Symbol.asyncDispose]() {
      unsubscribe();
      await Promise.all(tasks.map((step) => step[Symbol.asyncDispose]()));
      await resources.disposeAsync();
    },
  };
}

function guardOf(server: TenantServer, resources: AsyncDisposableStack, logger: Logger): PeriodicTaskOptions {
  const guard = resources.use(createLockGuard(server, logger));
  const catalogs = createCatalogGuard(server);
  return {
    name: 'guard servers',
    everyMs: 2_000,
    async run() {
      try {
        const ended = await guard.check();
        if (ended)
          logger.warn({ server: server.name, connections: ended }, "ended connections that held a server's locks");
        const writers = ended === undefined ? 0 : await catalogs.check();
        if (writers > 0)
          logger.warn(
            { server: server.name, connections: writers },
            "ended connections that filled a server's catalogues",
          );
      } catch (error) {
        // The server may not have been started yet. A server that does not answer is reported by `check servers`.
        if (!isConnectionError(error)) throw error;
      }
    },
  };
}
