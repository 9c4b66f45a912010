/** The second, small Postgres of `npm start`, for databases of tenants. It is made and started when one is wanted first. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from '#shared/core/logger.ts';
import { createPool } from '#shared/db/pool.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import type { Config, EmbeddedConfig } from '#shared/process/config.ts';
import { EMBEDDED_SERVER, TENANT_SERVER_WANTED } from '#shared/tenants/embedded-server.ts';
import { readIfThere } from './files.ts';
import type { Home } from './home.ts';
import { freePort, isFree } from './ports.ts';
import { type EmbeddedPostgres, endLeftovers, startPostgres } from './postgres.ts';
import { role, TENANT_POSTGRES_FOLDER } from './postgres-folder.ts';

export interface TenantPostgres extends AsyncDisposable {
  /** Known before it is started, so that the workers need not be told. */
  readonly url: string;
  /** Starts it, unless it runs. */
  start(): Promise<void>;
}

/** Small, since it is one more server on a developer's machine. The role of the deployment keeps a few connections. */
const settings = { shared_buffers: '16MB', max_connections: '100', reserved_connections: '5', max_wal_size: '256MB' };

/** Undefined if the settings name other servers, or switch databases of tenants off. */
export async function prepareTenantPostgres(
  home: Home,
  { wantsTenantPostgres }: EmbeddedConfig,
): Promise<TenantPostgres | undefined> {
  if (!wantsTenantPostgres) return undefined;
  const dir = join(home.dir, TENANT_POSTGRES_FOLDER);
  const log = join(home.dir, 'logs/tenants.log');
  const password = (await readIfThere(join(dir, 'password'))) ?? (await newPassword(home));
  await endLeftovers(dir);
  const port = await portFor(dir);
  let starting: Promise<EmbeddedPostgres> | undefined;
  return {
    url: `postgres://${role}:${password}@127.0.0.1:${port}/postgres`,
    async start() {
      starting ??= startPostgres({ dir, log, database: 'postgres', settings, port, password, forTenants: true });
      try {
        const postgres = await starting;
        // The next worker that wants it starts it again.
        void postgres.lost.then(() => {
          starting = undefined;
        });
      } catch (error) {
        starting = undefined;
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      await (await starting?.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  };
}

/** Starts the server of tenants' databases when a worker asks, and at once if one was created before. */
export async function startWhenWanted(
  tenants: TenantPostgres | undefined,
  {
    config,
    backplane,
    logger,
    say,
  }: {
    config: Pick<Config, 'db'>;
    backplane: Pick<Backplane, 'messages'>;
    logger: Logger;
    say: (line: string) => void;
  },
): Promise<AsyncDisposable | undefined> {
  if (!tenants) return undefined;
  const begin = () =>
    tenants.start().catch((error) => {
      logger.error({ err: error }, 'the Postgres for databases of tenants did not start');
      say(`The Postgres for databases of tenants did not start: ${error.message}`);
    });
  const unsubscribe = backplane.messages.subscribe(TENANT_SERVER_WANTED, () => void begin());
  const pool = createPool(config.db, logger, { max: 1, name: 'gantry.start' });
  try {
    const { rowCount } = await pool.query(
      'select server from tenant_database where server = $1 union all select server from tenant_database_removal where server = $1 limit 1',
      [EMBEDDED_SERVER],
    );
    if (rowCount) void begin();
  } finally {
    await pool.end();
  }
  return { [Symbol.asyncDispose]: async () => unsubscribe() };
}

/** Letters and digits only, because the password is part of a URL. The same again if the process ends before the folder is complete. */
async function newPassword(home: Home): Promise<string> {
  return createHash('sha256')
    .update(await home.secret('tenants-password'))
    .digest('hex');
}

async function portFor(dir: string): Promise<number> {
  const remembered = Number(await readIfThere(join(dir, 'port')));
  return remembered > 0 && (await isFree(remembered)) ? remembered : await freePort();
}
