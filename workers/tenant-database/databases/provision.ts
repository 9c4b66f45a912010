import { randomBytes } from 'node:crypto';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import { inTransaction, type Pool, type PoolClient } from '#shared/db/pool.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { withTenantDatabaseLock } from '#shared/tenants/database-lock.ts';
import { quoteLiteral, quoteName } from '../quote.ts';
import type { TenantServer, TenantServers } from '../servers/servers.ts';
import {
  lockRow,
  newPassword,
  type OwnDatabase,
  type OwnDatabaseRow,
  openDatabase,
  scramVerifier,
} from './owner-role.ts';

export interface Provisioner {
  /** Returns the tenant's database, created now if there is none. Two processes at once create only one. */
  provide(tenantID: string): Promise<OwnDatabase>;
  /**
   * Resets the password of the role, and lets it sign in: a role may change its own, and so lock the tenant out. Refused while the
   * database is moved to another server.
   */
  restorePassword(database: OwnDatabase): Promise<void>;
}

interface Needs {
  pool: Pool;
  secrets: KeyRing;
  servers: TenantServers;
}

interface Row extends OwnDatabaseRow {
  ready: boolean;
}

/** Connections of one role, over all worker processes. */
const MAX_ROLE_CONNECTIONS = 40;
const REVOKE_LOCK = 7_265_017;

export function createProvisioner({ pool, secrets, servers }: Needs): Provisioner {
  async function provide(tenantID: string): Promise<OwnDatabase> {
    const { rowCount } = await pool.query('select from tenant_database where tenant_id = $1', [tenantID]);
    if (rowCount === 0) await announce(tenantID);
    return withTenantDatabaseLock(pool, tenantID, async (connection) => {
      const row = await find(connection, tenantID);
      if (!row) throw new AppError('NOT_FOUND', 'Tenant not found');
      const database = await openDatabase(row, { pool, secrets, servers });
      if (row.ready) return database;
      await make(servers.get(row.server), database);
      await connection.query('update tenant_database set ready_at = now() where id = $1', [row.id]);
      return database;
    });
  }

  /** Stores the names before they are used, so that an interrupted creation is finished later or dropped with the tenant. */
  async function announce(tenantID: string): Promise<void> {
    const id = newID();
    const password = secrets.seal(newPassword(), sealedColumns.tenantDatabasePassword.context(id));
    const name = `tenant_${randomBytes(12).toString('hex')}`;
    await servers.assign((client, server) =>
      client.query(
        `insert into tenant_database (id, tenant_id, server, database_name, role_name, password)
         select $1, id, $5, $3, $3, $4 from tenant where id = $2 and deleting_at is null
         on conflict (tenant_id) do nothing`,
        [id, tenantID, name, password, server],
      ),
    );
  }

  return {
    provide,
    async restorePassword({ id, server, roleName, password }) {
      const verifier = quoteLiteral(await scramVerifier(password));
      await inTransaction(pool, async (client) => {
        await lockRow(client, id);
        await servers.get(server).admin.query(`alter role ${quoteName(roleName)} login password ${verifier}`);
      });
    },
  };
}

/** Creates what is missing of role and database. */
export async function make(
  { admin, isOwn }: TenantServer,
  database: OwnDatabase,
  template?: 'template0',
): Promise<void> {
  const connection = await admin.connect();
  try {
    await requireRights(connection);
    if (isOwn) await closeDeployment(connection);
    await makeRole(connection, database);
    await makeDatabase(connection, database, template);
  } finally {
    connection.release();
  }
}

async function find(connection: PoolClient, tenantID: string): Promise<Row | undefined> {
  const { rows } = await connection.query<Row>(
    'select id, server, database_name, role_name, password, ready_at is not null as ready from tenant_database where tenant_id = $1',
    [tenantID],
  );
  return rows[0];
}

async function requireRights(connection: PoolClient): Promise<void> {
  const { rows } = await connection.query<{ may: boolean }>(
    'select rolsuper or (rolcreatedb and rolcreaterole) as may from pg_roles where rolname = current_user',
  );
  if (!rows[0]?.may)
    throw new AppError(
      'CONFLICT',
      'This tenant has no database: it was created without tenantDBURL, and the role of this service may not create databases and roles',
    );
}

/** Closes the deployment's own database to PUBLIC: a role that may connect sees the names of all objects in it. */
async function closeDeployment(connection: PoolClient): Promise<void> {
  const before = await findDeployment(connection);
  if (!before.open) return;
  await connection.query('begin');
  try {
    // The lock is needed because concurrent changes of the rights of one database fail.
    await connection.query('select pg_advisory_xact_lock($1)', [REVOKE_LOCK]);
    await connection.query(`revoke connect, temporary on database ${quoteName(before.name)} from public`);
    await connection.query('commit');
  } catch (error) {
    await connection.query('rollback');
    throw error;
  }
  // A role without the right gets only a warning from the server.
  if ((await findDeployment(connection)).open)
    throw new AppError(
      'CONFLICT',
      "This tenant has no database: the service's own database is open to every role of the server, and its role may not close it (REVOKE CONNECT … FROM PUBLIC)",
    );
}

async function findDeployment(connection: PoolClient): Promise<{ name: string; open: boolean }> {
  const { rows } = await connection.query<{ name: string; open: boolean }>(
    `select current_database() as name, has_database_privilege('public', current_database(), 'CONNECT') as open`,
  );
  if (!rows[0]) throw new Error('The server does not say which database this is');
  return rows[0];
}

async function makeRole(connection: PoolClient, { roleName, password }: OwnDatabase): Promise<void> {
  const role = quoteName(roleName);
  const { rowCount } = await connection.query('select from pg_roles where rolname = $1', [roleName]);
  const attributes = `login nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit ${MAX_ROLE_CONNECTIONS}`;
  if (rowCount === 0)
    // The verifier and not the password: a server may log statements.
    await connection.query(`create role ${role} ${attributes} password ${quoteLiteral(await scramVerifier(password))}`);
  // Only members of a role may create and drop databases that the role owns.
  await connection.query(`grant ${role} to current_user`);
  await setDefaults(connection, roleName);
}

/** Settings of the owner of a database. */
export async function setDefaults(connection: Pick<Pool, 'query'>, roleName: string): Promise<void> {
  const role = quoteName(roleName);
  // Defaults, which the tenant may change for a session.
  for (const setting of [
    `statement_timeout = '5min'`,
    `idle_in_transaction_session_timeout = '1min'`,
    `work_mem = '8MB'`,
  ])
    await connection.query(`alter role ${role} set ${setting}`);
  // A limit, which the tenant may not change; ours to set only if the server's superuser has granted it.
  await connection.query(`alter role ${role} set temp_file_limit = '1GB'`).catch(() => undefined);
}

async function makeDatabase(
  connection: PoolClient,
  { databaseName, roleName }: OwnDatabase,
  requestedTemplate?: 'template0',
): Promise<void> {
  const database = quoteName(databaseName);
  const { rowCount } = await connection.query('select from pg_database where datname = $1', [databaseName]);
  if (rowCount === 0) {
    const { rows } = await connection.query<{ template: string }>(FIND_TEMPLATE);
    const template = requestedTemplate ?? rows[0]?.template ?? 'template0';
    await connection.query(`create database ${database} owner ${quoteName(roleName)} template ${template}`);
  }
  await connection.query(`alter database ${database} connection limit ${MAX_ROLE_CONNECTIONS}`);
  await connection.query(`revoke all on database ${database} from public`);
}

// template1 only where ops/tenant-server.sql has prepared it: elsewhere it may contain anything.
const FIND_TEMPLATE = `
select case when shobj_description(oid, 'pg_database') = 'template of tenant databases' then 'template1' else 'template0' end as template
from pg_database where datname = 'template1'`;
