import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readEmbeddedConfig } from '#shared/process/config.ts';
import { EMBEDDED_SERVER } from '#shared/tenants/embedded-server.ts';
import { openHome } from './home.ts';
import { openServers } from './servers.ts';
import { prepareTenantPostgres } from './tenant-postgres.ts';

export interface StartedServers {
  /** From which a command reads its configuration. */
  env: Record<string, string | undefined>;
  /** Starts the server of tenants' databases, if it is an embedded one. */
  startTenantServer(): Promise<void>;
}

/** For a command that works while Gantry does not run: without DATABASE_URL, starts the embedded Postgres of the folder and stops it afterwards. */
export async function withStartedServers(work: (servers: StartedServers) => Promise<void>): Promise<void> {
  if (process.env.DATABASE_URL) return await work({ env: process.env, startTenantServer: async () => undefined });
  const settings = readEmbeddedConfig();
  await using resources = new AsyncDisposableStack();
  const home = resources.use(await openHome(resolve(settings.home)));
  await mkdir(join(home.dir, 'logs'), { recursive: true, mode: 0o700 });
  const servers = resources.use(await openServers(settings, home.dir));
  const tenants = resources.use(await prepareTenantPostgres(home, settings));
  await work({
    env: {
      ...process.env,
      DATABASE_URL: servers.databaseURL,
      SECRETS_KEYS: process.env.SECRETS_KEYS || home.secretsKeys,
      FILES_DIR: process.env.FILES_DIR || join(home.dir, 'files'),
      ...(tenants && { TENANT_DATABASES_URL: `${EMBEDDED_SERVER}=${tenants.url}` }),
    },
    startTenantServer: async () => await tenants?.start(),
  });
}
