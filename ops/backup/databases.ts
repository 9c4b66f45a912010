import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import { newID } from '#shared/core/ids.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { requirePrograms, startDump, startRestore } from '#workers/tenant-database/databases/dump.ts';
import { type OwnDatabase, type OwnDatabaseRow, openDatabase } from '#workers/tenant-database/databases/owner-role.ts';
import { readOwnerSettings, writeOwnerSettings } from '#workers/tenant-database/databases/owner-settings.ts';
import { make } from '#workers/tenant-database/databases/provision.ts';
import { dropRoleAndDatabase } from '#workers/tenant-database/databases/removals.ts';
import type { TenantServer, TenantServers } from '#workers/tenant-database/servers/servers.ts';
import type { DatabaseUnit } from './manifest.ts';
import { readUnit, type Throttle, writeParts } from './parts.ts';
import type { BackupStore } from './store.ts';

export interface DatabaseRow extends OwnDatabaseRow {
  tenantID: string;
}

/** The databases that Gantry has created for tenants. One that a tenant has brought is the tenant's to back up. */
export async function findDatabases(pool: Pool): Promise<DatabaseRow[]> {
  const { rows } = await pool.query<DatabaseRow>(
    `select id, tenant_id as "tenantID", server, database_name, role_name, password from tenant_database
     where ready_at is not null order by tenant_id`,
  );
  return rows;
}

/** Throws, before anything is done, if pg_dump and pg_restore are missing or older than a server. */
export async function requireProgramsFor(
  rows: readonly { server: string }[],
  { servers, programs }: { servers: TenantServers; programs: string },
): Promise<void> {
  const used = [...new Set(rows.map(({ server }) => server))].map((name) => servers.get(name));
  if (used.length === 0) return;
  await requirePrograms(programs, used).catch((error: Error) => {
    throw new Error(
      `${rows.length === 1 ? 'A tenant has a database' : `${rows.length} tenants have databases`}, which need pg_dump and pg_restore. ${error.message}; or leave these databases out with --without-tenant-databases`,
      { cause: error },
    );
  });
}

interface DumpNeeds {
  servers: TenantServers;
  programs: string;
  store: BackupStore;
  throttle: Throttle;
}

export async function dumpDatabase(
  { tenantID, server: serverName, database_name: databaseName, role_name: roleName }: DatabaseRow,
  { servers, programs, ...target }: DumpNeeds,
): Promise<DatabaseUnit> {
  const server = servers.get(serverName);
  const settings = await readOwnerSettings(server, { databaseName, roleName });
  const hasLargeObjects = await server.on(databaseName, async (client) => {
    const { rows } = await client.query<{ some: boolean }>(
      'select exists (select from pg_catalog.pg_largeobject_metadata) as some',
    );
    return rows[0]?.some ?? false;
  });
  const name = `databases/${tenantID}`;
  const aborting = new AbortController();
  // The parts are compressed, and better than by the program.
  const dump = await startDump(server, { databaseName }, { programs, signal: aborting.signal, compress: 0 });
  const [written, ended] = await Promise.allSettled([
    writeParts(target, name, dump.output).catch((error: unknown) => {
      aborting.abort(error);
      throw error;
    }),
    dump.ended,
  ]);
  // The error of the target says more than that of the program, which was ended for it.
  if (written.status === 'rejected') throw written.reason;
  if (ended.status === 'rejected') throw ended.reason;
  return { name, parts: written.value, tenantID, settings, hasLargeObjects };
}

interface RestoreNeeds {
  pool: Pool;
  logger: Logger;
  servers: TenantServers;
  secrets: KeyRing;
  programs: string;
  store: BackupStore;
}

/** The row of the database of a tenant, whose server is one that the settings name; the first of them if its own is not. */
export async function assignServer(
  tenantID: string,
  { pool, servers }: Pick<RestoreNeeds, 'pool' | 'servers'>,
): Promise<DatabaseRow | undefined> {
  const { rows } = await pool.query<DatabaseRow>(
    'select id, tenant_id as "tenantID", server, database_name, role_name, password from tenant_database where tenant_id = $1',
    [tenantID],
  );
  const [row] = rows;
  if (!row) return undefined;
  const server = serverFor(row, servers);
  if (server !== row.server) await pool.query('update tenant_database set server = $2 where id = $1', [row.id, server]);
  return { ...row, server };
}

/** The name of the server that a database is restored to. */
export function serverFor(row: { server: string }, servers: TenantServers): string {
  if (servers.listed.some(({ name }) => name === row.server)) return row.server;
  const [first] = servers.listed;
  if (!first)
    throw new Error(
      'The backup has databases of tenants: name a server for them in TENANT_DATABASES_URL, or leave them out with --without-tenant-databases',
    );
  return first.name;
}

type DatabaseName = Pick<DatabaseRow, 'server' | 'database_name' | 'role_name'>;

/** Throws if the server has a database or a role of that name, or if one is to be dropped there. */
export async function requireFree(
  database: DatabaseName,
  { pool, servers }: Pick<RestoreNeeds, 'pool' | 'servers'>,
): Promise<void> {
  const { server, database_name } = database;
  const removals = await pool.query('select from tenant_database_removal where server = $1 and database_name = $2', [
    server,
    database_name,
  ]);
  if (removals.rowCount)
    throw new Error(
      `The database ${database_name} of the deleted tenant is still to be dropped on the server "${server}": workers do it within minutes; run this again then`,
    );
  if (await isTaken(servers.get(server), database))
    throw new Error(
      `The server "${server}" has a database or role ${database_name} already, which another deployment may use: name another server in TENANT_DATABASES_URL, or drop it, and run this again`,
    );
}

async function isTaken(server: TenantServer, { database_name, role_name }: DatabaseName): Promise<boolean> {
  const { rowCount } = await server.admin.query(
    'select from pg_database where datname = $1 union all select from pg_roles where rolname = $2',
    [database_name, role_name],
  );
  return (rowCount ?? 0) > 0;
}

/** How long a restore that has died keeps the tenant's statements and the sweep of lost connections away. */
const LEASE_SECONDS = 60;

/** Creates the database again and fills it. What an interrupted restore has left is dropped. */
export async function restoreDatabase(row: DatabaseRow, unit: DatabaseUnit, needs: RestoreNeeds): Promise<void> {
  // Before the lease, under which no lost password is replaced.
  const database = await openDatabase(row, needs);
  const { pool, logger } = needs;
  const restoreID = newID();
  const lease = () => pool.query(LEASE, [row.id, restoreID, LEASE_SECONDS]);
  await lease();
  try {
    const renew = { name: 'lease of a restore', everyMs: 15_000, firstAfterMs: 15_000, run: lease };
    await using _renewing = startPeriodicTask(renew, logger);
    await fillDatabase(row, { database, unit }, needs);
  } finally {
    await pool.query('update tenant_database set move_id = null, moving_until = null where move_id = $1', [restoreID]);
  }
}

// Restores connect as the tenant's role. Workers end connections of that role to a database that has no such lease.
const LEASE = `
update tenant_database set move_id = $2, moving_until = clock_timestamp() + make_interval(secs => $3) where id = $1`;

async function fillDatabase(
  row: DatabaseRow,
  { database, unit }: { database: OwnDatabase; unit: DatabaseUnit },
  { servers, programs, store }: RestoreNeeds,
): Promise<void> {
  const server = servers.get(row.server);
  const client = await server.admin.connect();
  try {
    const names = { databaseName: row.database_name, roleName: row.role_name };
    await dropRoleAndDatabase(client, { server, ...names });
  } finally {
    client.release();
  }
  await make(server, database, unit.hasLargeObjects ? 'template0' : undefined);
  const { input, ended } = startRestore(server, database, { programs, signal: new AbortController().signal });
  const source = readUnit(store, unit);
  source.on('error', (error) => input.destroy(error));
  input.on('error', () => source.destroy());
  source.pipe(input);
  await ended;
  await writeOwnerSettings(server, unit.settings);
}
