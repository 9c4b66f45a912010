import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool, PoolClient } from '#shared/db/pool.ts';
import { tryTenantDatabaseLock } from '#shared/tenants/database-lock.ts';
import { quoteName } from '../quote.ts';
import type { TenantServer, TenantServers } from '../servers/servers.ts';
import { rollBackPrepared } from './prepared.ts';
import { reopenDatabase } from './reopen-database.ts';

interface Needs {
  pool: Pool;
  servers: TenantServers;
  logger: Logger;
}

interface Entry {
  id: string;
  deleted_tenant_id: string;
  server: string;
  database_name: string;
  role_name: string;
}

/** Entries of one round. */
const MAX_ENTRIES = 50;

/**
 * Drops the databases and roles on the list `tenant_database_removal`. An entry that fails stays on the list for a later round and
 * delays no other. Returns the number of entries that are done.
 */
export async function workOffRemovals(needs: Needs): Promise<number> {
  let done = 0;
  for (let n = 0; n < MAX_ENTRIES; n += 1) {
    const { rows } = await needs.pool.query<Entry>(CLAIM);
    const [entry] = rows;
    if (!entry) break;
    if (await workOff(entry, needs)) done += 1;
  }
  return done;
}

async function workOff(entry: Entry, { pool, servers, logger }: Needs): Promise<boolean> {
  try {
    const server = servers.find(entry.server);
    if (!server) throw new Error(`TENANT_DATABASES_URL does not name the server ${entry.server}`);
    await server.ready();
    // The lock excludes a creation of the database that began before the tenant was deleted.
    return await tryTenantDatabaseLock(pool, entry.deleted_tenant_id, async () => {
      // A move of the database back to this server removes the entry.
      const { rowCount } = await pool.query(STILL_LISTED, [entry.id]);
      if (rowCount === 0) return;
      await remove(server, entry);
      await pool.query('delete from tenant_database_removal where id = $1', [entry.id]);
    });
  } catch (error) {
    const { database_name: database, server } = entry;
    logger.warn({ err: error, database, server }, 'a deleted tenant still has a database or a role; tried again later');
    const message = error instanceof Error ? error.message : String(error);
    await pool.query('update tenant_database_removal set error = $2 where id = $1', [entry.id, message]);
    return false;
  }
}

/** Drops the database and the role. That is not one transaction, so an earlier attempt may have dropped one of them. */
async function remove(server: TenantServer, { database_name, role_name }: Entry): Promise<void> {
  const connection = await server.admin.connect();
  try {
    await dropRoleAndDatabase(connection, { server, databaseName: database_name, roleName: role_name });
  } finally {
    connection.release();
  }
}

export async function dropRoleAndDatabase(
  connection: PoolClient,
  { server, databaseName, roleName }: { server: TenantServer; databaseName: string; roleName: string },
): Promise<void> {
  const { rows } = await connection.query<{ oid: number }>('select oid from pg_roles where rolname = $1', [roleName]);
  const [role] = rows;
  if (role) await takeOver(connection, roleName);
  await dropDatabase(connection, server, databaseName);
  await dropRoleWhenFull(connection, server, `${roleName}_full`);
  if (role) await dropRole(connection, { server, oid: role.oid, name: roleName });
}

/** Drops the role of a database that was over its quota. */
async function dropRoleWhenFull(connection: PoolClient, server: TenantServer, name: string): Promise<void> {
  const { rows } = await connection.query<{ oid: number }>('select oid from pg_roles where rolname = $1', [name]);
  if (rows[0]) await dropRole(connection, { server, oid: rows[0].oid, name });
}

/** Ends sessions of the role until there is none. The caller has to prevent that the role signs in again. */
export async function endSessions(connection: PoolClient, role: string): Promise<void> {
  for (let ended = 1; ended > 0; ) {
    const { rows } = await connection.query<{ n: number }>(END_SESSIONS, [role]);
    ended = rows[0]?.n ?? 0;
    if (ended > 0) await sleep(50);
  }
}

/** Forbids the role to sign in. Membership in it is granted again, since before PostgreSQL 16 a role may revoke membership in itself. */
async function takeOver(connection: PoolClient, role: string): Promise<void> {
  await connection.query(`grant ${quoteName(role)} to current_user`);
  await connection.query(`alter role ${quoteName(role)} nologin`);
}

async function dropDatabase(connection: PoolClient, server: TenantServer, name: string): Promise<void> {
  const { rowCount } = await connection.query('select from pg_database where datname = $1', [name]);
  if (rowCount === 0) return;
  // The owner may have made it a template, which cannot be dropped.
  await connection.query(`alter database ${quoteName(name)} with is_template false`);
  await rollBackPrepared(server, connection, { database: name });
  await connection.query(`drop database ${quoteName(name)} with (force)`);
}

interface Role {
  server: TenantServer;
  oid: number;
  name: string;
}

const DEPENDENT_OBJECTS = '2BP01';

export async function dropRole(connection: PoolClient, role: Role): Promise<void> {
  try {
    await connection.query(`drop role ${quoteName(role.name)}`);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === DEPENDENT_OBJECTS)) throw error;
    await dropGrants(connection, role);
    await connection.query(`drop role ${quoteName(role.name)}`);
  }
}

/** Any tenant may grant rights on its objects to any role, and a role with rights cannot be dropped. */
async function dropGrants(connection: PoolClient, { server, oid, name }: Role): Promise<void> {
  const { rows } = await connection.query<{ database: string }>(DATABASES_WITH_GRANTS, [oid]);
  for (const { database } of rows) {
    await reopenDatabase(connection, database);
    await server.on(database, (client) => client.query(`drop owned by ${quoteName(name)}`));
  }
  // Drops rights on shared objects, such as databases of other owners.
  await connection.query(`drop owned by ${quoteName(name)}`);
}

const DATABASES_WITH_GRANTS = `
select distinct d.datname as database from pg_shdepend s join pg_database d on d.oid = s.dbid
where s.refclassid = 'pg_authid'::regclass and s.refobjid = $1`;

const END_SESSIONS =
  'select count(*)::int as n from (select pg_terminate_backend(pid) from pg_stat_activity where usename = $1) as ended';

const STILL_LISTED = `
select from tenant_database_removal r where id = $1 and not exists (
  select from tenant_database d where d.server = r.server and d.database_name = r.database_name)`;

// Claims an entry by setting the time of its next attempt, before which no other worker takes it. Pauses double from 10 s to 1 h. The
// column is rounded to milliseconds, and so is the time that it is compared with: otherwise a new entry could be one of the future.
const CLAIM = `
update tenant_database_removal
set attempts = attempts + 1, next_try_at = now() + least(interval '1 hour', interval '10 seconds' * 2 ^ least(attempts, 10))
where id = (select id from tenant_database_removal where next_try_at <= now()::timestamptz(3) order by next_try_at limit 1 for update skip locked)
returning id, deleted_tenant_id, server, database_name, role_name`;
