import { isConnectionError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { TenantServer, TenantServers } from './servers.ts';

/** Finds what the servers for new databases lack of `ops/tenant-server.sql`; stores it, for `/ready`, and logs changes. */
export async function checkServers({
  pool,
  servers,
  logger,
}: {
  pool: Pool;
  servers: TenantServers;
  logger: Logger;
}): Promise<void> {
  for (const server of servers.listed) {
    const missing = await findMissing(server);
    if (missing === undefined) continue;
    const { rows } = await pool.query<{ isNew: boolean }>(STORE, [server.name, missing]);
    if (missing.length > 0 && rows[0]?.isNew)
      logger.warn(
        { server: server.name, missing },
        'a server for databases of tenants lacks what ops/tenant-server.sql sets up',
      );
  }
}

/** Undefined if the server has not been started yet. */
async function findMissing({ admin, isOnDemand }: TenantServer): Promise<string[] | undefined> {
  try {
    const { rows } = await admin.query<{ missing: string[] }>(FIND_MISSING);
    return rows[0]?.missing ?? [];
  } catch (error) {
    if (!isConnectionError(error)) throw error;
    return isOnDemand ? undefined : ['an answer'];
  }
}

const FIND_MISSING = `
select array(select what from (values
  ((select rolsuper or (rolcreatedb and rolcreaterole) from pg_roles where rolname = current_user), 'CREATEDB and CREATEROLE'),
  (case when current_setting('server_version_num')::int >= 150000
     then has_parameter_privilege(current_user, 'temp_file_limit', 'SET') else false end, 'SET on temp_file_limit'),
  (pg_has_role(current_user, 'pg_signal_backend', 'USAGE'), 'pg_signal_backend'),
  (pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'), 'pg_read_all_stats'),
  (coalesce(current_setting('reserved_connections', true)::int > 0, true), 'reserved_connections'),
  (coalesce((select pg_has_role(current_user, oid, 'USAGE') from pg_roles where rolname = 'pg_use_reserved_connections'), true), 'pg_use_reserved_connections'),
  (coalesce((select pg_has_role(current_user, oid, 'USAGE') from pg_roles where rolname = 'pg_signal_autovacuum_worker'), true), 'pg_signal_autovacuum_worker'),
  (not exists (select from pg_database where datname in ('postgres', 'template1')
     and has_database_privilege('public', oid, 'CONNECT')), 'REVOKE CONNECT on postgres and template1'),
  ((select shobj_description(oid, 'pg_database') = 'template of tenant databases' from pg_database where datname = 'template1'), 'template1')
) as checked (is_there, what) where is_there is not true) as missing`;

const STORE = `
with before as (select missing from tenant_server where name = $1)
insert into tenant_server (name, missing) values ($1, $2)
on conflict (name) do update set missing = excluded.missing, checked_at = now()
returning missing is distinct from (select missing from before) as "isNew"`;
