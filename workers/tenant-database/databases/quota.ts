import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool, PoolClient } from '#shared/db/pool.ts';
import { tryTenantDatabaseLock } from '#shared/tenants/database-lock.ts';
import { quoteLiteral, quoteName } from '../quote.ts';
import type { TenantServer, TenantServers } from '../servers/servers.ts';
import { type OwnDatabase, type OwnDatabaseRow, openDatabase, roleWhenFull, scramVerifier } from './owner-role.ts';
import { setDefaults } from './provision.ts';
import { dropRole, endSessions } from './removals.ts';
import { reopenDatabase } from './reopen-database.ts';

interface Needs {
  pool: Pool;
  servers: TenantServers;
  secrets: KeyRing;
  logger: Logger;
}

interface Row extends OwnDatabaseRow {
  tenant_id: string;
  is_full: boolean;
}

interface Size {
  name: string;
  bytes: number;
  /** Bytes in catalogues of the whole server, which are no part of the database. */
  shared: number;
}

/** Limit of a database's comment, and of the settings of the database and its owner. */
const MAX_SHARED_BYTES = 64 * 1024;

/** A full database takes writes again below this share of its quota, so that it does not change all the time. */
const FREE_AGAIN = 0.95;

/**
 * Measures databases that were not measured for a minute. One over its quota is closed to its owner: the owner may grant itself
 * any right, so no right that is taken from it would stop a write. Requests get a role that owns nothing, and may read, delete
 * and truncate; objects are dropped for it in the owner's name.
 */
export async function measureDatabases(needs: Needs): Promise<void> {
  const { pool, servers, logger } = needs;
  const { rows } = await pool.query<Row>(CLAIM);
  for (const [name, databases] of Map.groupBy(rows, ({ server }) => server)) {
    try {
      const { admin } = servers.get(name);
      const { rows: sizes } = await admin.query<Size>(SIZES, [databases.map(({ database_name }) => database_name)]);
      const sizeOf = new Map(sizes.map((one) => [one.name, one]));
      for (const row of databases) await recordSize(row, sizeOf.get(row.database_name), needs);
    } catch (error) {
      logger.warn({ err: error, server: name }, 'databases of a server were not measured');
    }
  }
}

async function recordSize(row: Row, size: Size | undefined, needs: Needs): Promise<void> {
  const { bytes = 0, shared = 0 } = size ?? {};
  const { pool, servers, logger } = needs;
  const { maxBytes } = servers;
  if (shared > MAX_SHARED_BYTES) await clearTexts(servers.get(row.server).admin, row, { bytes: shared, logger });
  await pool.query('update tenant_database set bytes = $2 where id = $1', [row.id, bytes]);
  const isOver = maxBytes > 0 && bytes > maxBytes * (row.is_full ? FREE_AGAIN : 1);
  if (isOver !== row.is_full) await switchAccess(row, isOver, needs);
}

async function clearTexts(
  admin: Pool,
  { tenant_id: tenantID, database_name, role_name }: Row,
  { bytes, logger }: { bytes: number; logger: Logger },
): Promise<void> {
  const [database, role] = [quoteName(database_name), quoteName(role_name)];
  try {
    // One message is one transaction. The lock timeout is short, because the tenant may hold the locks that this needs.
    await admin.query(`set local lock_timeout = '2s'; comment on database ${database} is null; alter database ${database} reset all;
      alter role ${role} in database ${database} reset all; alter role ${role} reset all`);
    await setDefaults(admin, role_name);
    logger.warn({ tenantID, bytes }, 'removed long comments or settings of a database');
  } catch (error) {
    logger.warn({ err: error, tenantID, bytes }, 'long comments or settings of a database could not be removed');
  }
}

async function switchAccess(row: Row, isFull: boolean, { pool, servers, secrets, logger }: Needs): Promise<void> {
  try {
    const server = servers.get(row.server);
    const database = await openDatabase(row, { pool, secrets, servers });
    await tryTenantDatabaseLock(pool, row.tenant_id, async () => {
      const { rowCount } = await pool.query('select from tenant_database where id = $1 and server = $2', [
        row.id,
        row.server,
      ]);
      if (rowCount === 0) return;
      if (isFull) await close(server, database, () => pool.query(SET_FULL, [row.id, true]));
      else await reopen(server, database, () => pool.query(SET_FULL, [row.id, false]));
    });
    logger.info({ tenantID: row.tenant_id, isFull }, 'a database has passed its quota');
  } catch (error) {
    logger.warn(
      { err: error, tenantID: row.tenant_id },
      'a database over its quota could not be closed, or not opened again',
    );
  }
}

/** Closes a full database to its owner. Every step can be repeated, because an earlier attempt may have been interrupted. */
async function close(server: TenantServer, database: OwnDatabase, mark: () => Promise<unknown>): Promise<void> {
  const { databaseName, roleName, password } = database;
  const limited = roleWhenFull(roleName);
  await withAdmin(server, async (connection) => {
    const { rowCount } = await connection.query('select from pg_roles where rolname = $1', [limited]);
    if (rowCount === 0)
      await connection.query(
        `create role ${quoteName(limited)} nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit 10`,
      );
    await connection.query(`grant ${quoteName(limited)} to current_user`);
    await connection.query(
      `alter role ${quoteName(limited)} login password ${quoteLiteral(await scramVerifier(password))}`,
    );
    await connection.query(`alter role ${quoteName(limited)} set temp_file_limit = '1GB'`).catch(() => undefined);
    await connection.query(`alter role ${quoteName(roleName)} nologin`);
    await mark();
    await endSessions(connection, roleName);
    await reopenDatabase(connection, databaseName);
    await connection.query(`revoke all on database ${quoteName(databaseName)} from public, ${quoteName(limited)}`);
    await connection.query(`grant connect on database ${quoteName(databaseName)} to ${quoteName(limited)}`);
  });
  await server.on(databaseName, (client) => client.query(LIMIT_RIGHTS.replaceAll('LIMITED', quoteLiteral(limited))));
}

async function reopen(server: TenantServer, { roleName }: OwnDatabase, mark: () => Promise<unknown>): Promise<void> {
  const limited = roleWhenFull(roleName);
  await withAdmin(server, async (connection) => {
    await connection.query(`alter role ${quoteName(roleName)} login`);
    await mark();
    const { rows } = await connection.query<{ oid: number }>('select oid from pg_roles where rolname = $1', [limited]);
    await connection.query(`alter role ${quoteName(limited)} nologin`);
    await endSessions(connection, limited);
    if (rows[0]) await dropRole(connection, { server, oid: rows[0].oid, name: limited });
  });
}

/**
 * Drops an object of a full database as the owner; a drop runs no code of the tenant. Names are looked up as on the
 * connection of the request. Returns the command tag.
 */
export async function dropAsOwner(
  server: TenantServer,
  database: OwnDatabase,
  { sql, searchPath }: { sql: string; searchPath: string },
): Promise<string> {
  return await server.on(database.databaseName, async (client) => {
    await client.query(`begin; set local role ${quoteName(database.roleName)}; set local lock_timeout = '10s'`);
    await client.query(`select set_config('search_path', $1, true)`, [searchPath]);
    // The extended protocol takes one statement only.
    const extended = { text: sql, queryMode: 'extended' as const };
    const { command } = await client.query(extended);
    await client.query('commit');
    return command;
  });
}

async function withAdmin(server: TenantServer, work: (connection: PoolClient) => Promise<void>): Promise<void> {
  const connection = await server.admin.connect();
  try {
    await work(connection);
  } finally {
    connection.release();
  }
}

const CLAIM = `
update tenant_database set measured_at = now()
where id in (select id from tenant_database
             where ready_at is not null and coalesce(measured_at, '-infinity') < now() - interval '50 seconds'
               and coalesce(moving_until, '-infinity') < now()
             order by measured_at nulls first limit 500 for update skip locked)
returning id, tenant_id, server, database_name, role_name, password, full_since is not null as is_full`;

const SIZES = `
select datname as name, pg_database_size(oid) as bytes,
  (coalesce((select sum(pg_column_size(description)) from pg_shdescription
     where objoid = db.oid and classoid = 'pg_database'::regclass), 0)
   + coalesce((select sum(pg_column_size(setconfig)) from pg_db_role_setting
     where setdatabase = db.oid or setrole = datdba), 0))::bigint as shared
from pg_database db where datname = any($1)`;
const SET_FULL = 'update tenant_database set full_since = case when $2 then now() end where id = $1';

/**
 * Limits rights of what runs as the owner when a row is deleted, because it could write: rules, functions that are SECURITY DEFINER, actions of
 * foreign keys that set values, triggers of tables that a foreign key deletes from, and casts with which a foreign key compares.
 * Such tables can only be dropped.
 */
const LIMIT_RIGHTS = `
set search_path = pg_catalog;
do $$ declare
  role text := quote_ident(LIMITED);
  one record;
begin
  for one in select quote_ident(nspname) as name from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' loop
    execute format('revoke create on schema %s from public, %s', one.name, role);
    execute format('grant usage on schema %s to %s', one.name, role);
    execute format('revoke all on all tables in schema %s from public, %s', one.name, role);
    execute format('revoke all on all sequences in schema %s from public, %s', one.name, role);
    execute format('grant select on all tables in schema %s to %s', one.name, role);
  end loop;
  for one in select p.oid::regprocedure as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where p.prosecdef and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  loop
    execute format('revoke all on routine %s from public, %s', one.name, role);
  end loop;
  for one in
    with recursive unsafe as (
      select ev_class as id from pg_rewrite where ev_type in ('2', '3', '4')
      union select t.tgrelid from pg_trigger t join pg_proc p on p.oid = t.tgfoid where not t.tgisinternal and p.prosecdef
      union select confrelid from pg_constraint where contype = 'f' and confdeltype in ('n', 'd')
      union select confrelid from pg_constraint where contype = 'f' and confdeltype = 'c'
        and exists (select from pg_trigger t where t.tgrelid = conrelid and not t.tgisinternal)
      union select c.confrelid from pg_constraint c join pg_attribute a on a.attrelid in (c.conrelid, c.confrelid) and a.attnum > 0
        join pg_cast on castsource = a.atttypid or casttarget = a.atttypid
        join pg_proc p on p.oid = castfunc and p.pronamespace <> 'pg_catalog'::regnamespace where c.contype = 'f'
      union select c.confrelid from pg_constraint c join unsafe on unsafe.id = c.conrelid where c.contype = 'f' and c.confdeltype = 'c'
    )
    select c.oid::regclass as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
      and not exists (select from unsafe where unsafe.id = c.oid)
  loop
    execute format('grant delete, truncate on %s to %s', one.name, role);
  end loop;
end $$`;
