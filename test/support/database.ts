import pg from 'pg';
import { newID } from '#shared/core/ids.ts';
import { testServers } from './environment.ts';

export const TEMPLATE = 'gantry_template';

/** At most two connections to each server of the run: every deployment makes and drops databases, and a new connection takes 11 ms of processor time. */
const servers = new Map<string, pg.Pool>();

function serverPool(url: string): pg.Pool {
  let pool = servers.get(url);
  if (!pool) {
    pool = new pg.Pool({ connectionString: url, max: 2, allowExitOnIdle: true, idleTimeoutMillis: 60_000 });
    pool.on('error', () => {}); // The next statement opens another connection.
    servers.set(url, pool);
  }
  return pool;
}

/** Runs one statement on a server's own database: the deployment's server, unless the caller names the one of datasources. */
export async function onServer(
  sql: string,
  { url = testServers.databaseURL, values = [] }: { url?: string; values?: unknown[] } = {},
): Promise<pg.QueryResultRow[]> {
  if (Object.values(testServers).includes(url))
    return (await serverPool(url).query<pg.QueryResultRow>(sql, values)).rows;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<pg.QueryResultRow>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

export interface FreshDatabase extends AsyncDisposable {
  url: string;
}

/** A migrated database of the caller's own, copied from the template that `setup/global.ts` made; dropped when disposed. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const name = `test_${newID().replaceAll('-', '')}`;
  // Copying the files takes 23 ms of processor time; writing each page to the log as well, 46 ms or more.
  await onServer(`create database ${name} template ${TEMPLATE} strategy file_copy`);
  const url = new URL(testServers.databaseURL);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: async () => void (await onServer(`drop database if exists ${name} with (force)`)),
  };
}

/** An empty database on the server of datasources, as a tenant brings one. */
export async function broughtDatabase(): Promise<FreshDatabase> {
  const name = `test_${newID().replaceAll('-', '')}`;
  const server = { url: testServers.datasourceURL };
  await onServer(`create database ${name}`, server);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: async () => void (await onServer(`drop database if exists ${name} with (force)`, server)),
  };
}

/** How many statements with this text the server of datasources executes now. */
export async function countActive(marker: string): Promise<number> {
  const rows = await onServer(
    `select 1 from pg_stat_activity where state = 'active' and query like $1 and pid <> pg_backend_pid()`,
    { url: testServers.datasourceURL, values: [`%${marker}%`] },
  );
  return rows.length;
}

/** The server of the databases that Gantry creates for tenants, as the deployment's role. */
export const tenantServer = {
  query: async (sql: string, values: unknown[] = []) => ({
    rows: await onServer(sql, { url: testServers.tenantsURL, values }),
  }),
};
