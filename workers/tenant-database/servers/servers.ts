import { setTimeout as sleep } from 'node:timers/promises';
import { createSemaphore, type Semaphore } from '#shared/concurrency/semaphore.ts';
import { AppError, isConnectionError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import { OWN_SERVER } from '#shared/core/setting-formats.ts';
import { createPool, inTransaction, type Pool, type PoolClient } from '#shared/db/pool.ts';
import type { Messages } from '#shared/messaging/backplane/index.ts';
import type { Config } from '#shared/process/config.ts';
import { EMBEDDED_SERVER, TENANT_SERVER_WANTED } from '#shared/tenants/embedded-server.ts';
import { createOpenConnections, type OpenConnections } from './connections.ts';
import { type Contention, createContention } from './contention.ts';

/** A PostgreSQL server with databases of tenants. */
export interface TenantServer {
  readonly name: string;
  readonly url: string;
  /** Whether it is the server of DATABASE_URL. */
  readonly isOwn: boolean;
  /** Whether `npm start` starts it when a worker asks. */
  readonly isOnDemand: boolean;
  /** Permits for connections of this process to databases of tenants. */
  readonly permits: Semaphore;
  /** Connections as the deployment's role, for creating, watching and dropping databases. */
  readonly admin: Pool;
  /** Waits until the server answers, if it is started on demand. */
  ready(signal?: AbortSignal): Promise<void>;
  /** Runs `work` as the deployment's role in a tenant's database of the server, with settings that the tenant cannot change. */
  on<T>(database: string, work: (client: PoolClient) => Promise<T>): Promise<T>;
}

export interface TenantServers extends AsyncDisposable {
  readonly all: readonly TenantServer[];
  /** The servers that new databases are created on. */
  readonly listed: readonly TenantServer[];
  readonly connections: OpenConnections;
  readonly contention: Contention;
  /** Size limit of one database; 0 is no limit. */
  readonly maxBytes: number;
  /** The server of that name; undefined if the settings no longer name it. */
  find(name: string): TenantServer | undefined;
  /** Like `find`, with an error for the tenant. */
  get(name: string): TenantServer;
  /** Runs `write` in a transaction, with the name of the server that the next database belongs on: the emptiest that answers. */
  assign(write: (client: PoolClient, server: string) => Promise<unknown>): Promise<void>;
}

interface Needs {
  pool: Pool;
  messages: Messages;
  config: Config['tenantDatabases'];
  logger: Logger;
}

/** Connections of one worker to one server as the deployment's role: two, so that a long creation of a database delays nothing else. */
const ADMIN_CONNECTIONS = 2;
const ASSIGN_LOCK = 7_265_018;
const NO_DATABASE = 'This tenant has no database: it was created without tenantDBURL, and';

export function createTenantServers({ pool, messages, config, logger }: Needs): TenantServers {
  const urls = new Map(config.servers.map(({ name, url }) => [name, url]));
  // The deployment's own server has the databases of tenants from before there were separate servers, until they are moved.
  if (!urls.has(OWN_SERVER)) urls.set(OWN_SERVER, config.ownURL);
  const servers = new Map<string, TenantServer>();
  for (const [name, url] of urls) {
    const open = (address: string, max: number, settings = '') =>
      createPool({ url: address, poolSize: max }, logger, {
        name: 'gantry.tenants',
        settings: `-c statement_timeout=60000 ${settings}`,
      });
    const admin = open(url, ADMIN_CONNECTIONS);
    const isOnDemand = config.onDemand && name === EMBEDDED_SERVER;
    servers.set(name, {
      name,
      url,
      isOwn: name === OWN_SERVER,
      isOnDemand,
      permits: createSemaphore({ permits: config.maxConnections, dynamicLimit: 1 }),
      admin,
      ready: isOnDemand ? startOnDemand(admin, messages) : async () => undefined,
      async on(database, work) {
        const elsewhere = open(withDatabase(url, database), 1, await settingsAgainstOwner(admin));
        try {
          const client = await elsewhere.connect();
          try {
            return await work(client);
          } finally {
            client.release();
          }
        } finally {
          await elsewhere.end();
        }
      },
    });
  }
  const connections = createOpenConnections({ pool, logger });
  const contention = createContention(messages);
  const listed = config.servers.flatMap(({ name }) => servers.get(name) ?? []);

  async function countDatabases(client: PoolClient | Pool): Promise<Map<string, number>> {
    const { rows } = await client.query<{ server: string; n: number }>(COUNT_DATABASES);
    return new Map(rows.map(({ server, n }) => [server, n]));
  }

  function emptiestFirst(counts: Map<string, number>, among: readonly TenantServer[]): TenantServer[] {
    const countOf = ({ name }: TenantServer) => counts.get(name) ?? 0;
    return among.filter((server) => countOf(server) < config.maxPerServer).toSorted((a, b) => countOf(a) - countOf(b));
  }

  /** Servers with capacity that answer, the emptiest first. A server that is away must not keep tenants from the others. */
  async function candidates(): Promise<TenantServer[]> {
    const withCapacity = emptiestFirst(await countDatabases(pool), listed);
    if (withCapacity.length === 0) throw full(config.maxPerServer);
    const tried = await Promise.allSettled(withCapacity.map((server) => answers(server)));
    const answering = withCapacity.filter((_, at) => tried[at]?.status === 'fulfilled');
    const failed = tried.find((one) => one.status === 'rejected');
    if (answering.length === 0) throw failed?.reason;
    return answering;
  }

  const find = (name: string) => servers.get(name);
  return {
    all: [...servers.values()],
    listed,
    connections,
    contention,
    maxBytes: config.maxBytes,
    find,
    get(name) {
      const server = find(name);
      if (server) return server;
      logger.error({ server: name }, 'TENANT_DATABASES_URL does not name a server that has databases of tenants');
      throw new AppError(
        'CONFLICT',
        "This tenant's database is on a server that TENANT_DATABASES_URL of this service no longer names",
      );
    },
    async assign(write) {
      if (!config.provision)
        throw new AppError(
          'CONFLICT',
          `${NO_DATABASE} this service does not create databases (TENANT_DATABASES is false)`,
        );
      if (listed.length === 0)
        throw new AppError(
          'CONFLICT',
          `${NO_DATABASE} this service has no server for databases of tenants (TENANT_DATABASES_URL is not set)`,
        );
      const answering = await candidates();
      await inTransaction(pool, async (client) => {
        // The lock lets concurrent creations count one after another, so that each counts the databases of those before it.
        await client.query('select pg_advisory_xact_lock($1)', [ASSIGN_LOCK]);
        const [chosen] = emptiestFirst(await countDatabases(client), answering);
        if (!chosen) throw full(config.maxPerServer);
        await write(client, chosen.name);
      });
    },
    async [Symbol.asyncDispose]() {
      contention[Symbol.dispose]();
      await connections[Symbol.asyncDispose]();
      await Promise.all([...servers.values()].map(({ admin }) => admin.end()));
    },
  };
}

async function answers({ ready, admin }: TenantServer): Promise<void> {
  await ready();
  await admin.query('select 1');
}

/** Longest wait for a server that is started on demand. Its first start also creates it, which takes a second or two. */
const START_MS = 30_000;
const ASK_AGAIN_MS = 1_000;
const POLL_MS = 100;

/** Asks for the start of the server until it answers. After its first answer it is not asked for again: its process keeps it running. */
function startOnDemand(admin: Pool, messages: Messages): TenantServer['ready'] {
  let hasAnswered = false;
  return async (signal) => {
    for (let waitedMs = 0; !hasAnswered; waitedMs += POLL_MS) {
      hasAnswered = await isUp(admin);
      if (hasAnswered) return;
      if (signal?.aborted || waitedMs > START_MS)
        throw new AppError('UNAVAILABLE', 'The server for databases of tenants has not started yet', { retryAfter: 5 });
      // Asks again from time to time, because messages may be lost.
      if (waitedMs % ASK_AGAIN_MS === 0) await messages.publish(TENANT_SERVER_WANTED, {});
      await sleep(POLL_MS);
    }
  };
}

async function isUp(admin: Pool): Promise<boolean> {
  try {
    await admin.query('select 1');
    return true;
  } catch (error) {
    if (isConnectionError(error)) return false;
    throw error;
  }
}

/**
 * Options of a connection to a tenant's database. They override the settings that the owner has given to it: with a search path of
 * the owner's, statements of ours would call its functions with our rights, and a library that does not exist refuses the connection.
 */
export async function settingsAgainstOwner(admin: Pool): Promise<string> {
  const { rows } = await admin.query<{ options: string | null }>(OWN_SETTINGS);
  return `-c role=none ${rows[0]?.options ?? ''}`;
}

// The join leaves out settings that the server does not have.
const OWN_SETTINGS = `
select string_agg(format('-c %s=%s', name, value), ' ') as options
from pg_settings join (values ('search_path', 'pg_catalog'), ('default_transaction_read_only', 'off'),
  ('default_transaction_isolation', 'read\\ committed'), ('default_transaction_deferrable', 'off'),
  ('standard_conforming_strings', 'on'), ('lock_timeout', '5s'), ('transaction_timeout', '0'), ('idle_session_timeout', '0'),
  ('idle_in_transaction_session_timeout', '0'), ('local_preload_libraries', ''), ('tcp_user_timeout', '0')) as own (name, value) using (name)`;

function withDatabase(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${encodeURIComponent(database)}`;
  return other.href;
}

function full(maxPerServer: number): AppError {
  return new AppError(
    'CONFLICT',
    `${NO_DATABASE} every server for databases of tenants is full (TENANT_DATABASES_PER_SERVER is ${maxPerServer})`,
  );
}

/** Databases that wait to be dropped still count. */
const COUNT_DATABASES = `
select server, count(*)::int as n
from (select server from tenant_database union all select server from tenant_database_removal) as d
group by server`;
