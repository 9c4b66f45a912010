import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { Config } from '#shared/config.ts';
import type { KeyRing } from '#shared/crypto.ts';
import type { Pool, PoolClient } from '#shared/db/pool.ts';
import { withTenantDatabaseLock } from '#shared/db/tenant-database-lock.ts';
import { AppError } from '#shared/errors.ts';
import { newID } from '#shared/ids.ts';
import { sealedColumns } from '#shared/sealed-columns.ts';
import { quoteLiteral, quoteName } from './quote.ts';

/** The database that a tenant was given in the deployment's own Postgres. */
export interface OwnDatabase {
  id: string;
  databaseName: string;
  roleName: string;
  password: string;
}

export interface Provisioner {
  /** The tenant's, made now if there is none. Two processes at once make one. */
  provide(tenantID: string): Promise<OwnDatabase>;
  /** Gives the role its password again: it may change its own, and would lock itself out. */
  restorePassword(database: OwnDatabase): Promise<void>;
}

interface Needs {
  pool: Pool;
  secrets: KeyRing;
  config: Config['tenantDatabases'];
}

interface Row {
  id: string;
  database_name: string;
  role_name: string;
  password: string;
  ready: boolean;
}

/** For all worker processes together. */
const CONNECTIONS = 40;
const REVOKE_LOCK = 7_265_017;

export function createProvisioner({ pool, secrets, config }: Needs): Provisioner {
  async function provide(tenantID: string): Promise<OwnDatabase> {
    if (!config.provision)
      throw new AppError(
        'CONFLICT',
        'This tenant has no database: it was created without tenantDBURL, and this service gives none of its own (TENANT_DATABASES)',
      );
    await announce(tenantID);
    return withTenantDatabaseLock(pool, tenantID, async (connection) => {
      const row = await find(connection, tenantID);
      if (!row) throw new AppError('NOT_FOUND', 'Tenant not found');
      const database = open(row);
      if (!row.ready) await make(connection, database);
      return database;
    });
  }

  /** The names are written down before anything has them: what is broken off here is finished, or dropped with the tenant. */
  async function announce(tenantID: string): Promise<void> {
    const id = newID();
    const password = secrets.seal(
      randomBytes(24).toString('base64url'),
      sealedColumns.tenantDatabasePassword.context(id),
    );
    const name = `tenant_${randomBytes(12).toString('hex')}`;
    await pool.query(
      `insert into tenant_database (id, tenant_id, database_name, role_name, password)
       select $1, id, $3, $3, $4 from tenant where id = $2 and deleting_at is null
       on conflict (tenant_id) do nothing`,
      [id, tenantID, name, password],
    );
  }

  function open({ id, database_name, role_name, password }: Row): OwnDatabase {
    return {
      id,
      databaseName: database_name,
      roleName: role_name,
      password: secrets.open(password, sealedColumns.tenantDatabasePassword.context(id)),
    };
  }

  async function make(connection: PoolClient, database: OwnDatabase): Promise<void> {
    await requireRights(connection);
    await closeDeployment(connection);
    await makeRole(connection, database);
    await makeDatabase(connection, database);
    await connection.query('update tenant_database set ready_at = now() where id = $1', [database.id]);
  }

  return {
    provide,
    async restorePassword({ roleName, password }) {
      await pool.query(
        `alter role ${quoteName(roleName)} login password ${quoteLiteral(await scramVerifier(password))}`,
      );
    },
  };
}

async function find(connection: PoolClient, tenantID: string): Promise<Row | undefined> {
  const { rows } = await connection.query<Row>(
    'select id, database_name, role_name, password, ready_at is not null as ready from tenant_database where tenant_id = $1',
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

/** Whoever may connect to a database sees the names of everything in it, so nobody may who was not told to. */
async function closeDeployment(connection: PoolClient): Promise<void> {
  const before = await findDeployment(connection);
  if (!before.open) return;
  await connection.query('begin');
  try {
    // Two that change the rights of one database at the same moment fail.
    await connection.query('select pg_advisory_xact_lock($1)', [REVOKE_LOCK]);
    await connection.query(`revoke connect, temporary on database ${quoteName(before.name)} from public`);
    await connection.query('commit');
  } catch (error) {
    await connection.query('rollback');
    throw error;
  }
  // To whoever may not, the server only gives a warning.
  if ((await findDeployment(connection)).open)
    throw new AppError(
      'CONFLICT',
      "This tenant has no database: this service's own is open to every role of the server, and its role may not close it (REVOKE CONNECT … FROM PUBLIC)",
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
  const attributes = `login nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit ${CONNECTIONS}`;
  if (rowCount === 0)
    // The verifier and not the password: a server may log what it is told.
    await connection.query(`create role ${role} ${attributes} password ${quoteLiteral(await scramVerifier(password))}`);
  // The owner of a database is made and dropped by its members only.
  await connection.query(`grant ${role} to current_user`);
  for (const setting of [`statement_timeout = '5min'`, `idle_in_transaction_session_timeout = '1min'`])
    await connection.query(`alter role ${role} set ${setting}`);
  // Only a superuser may set this one, and a deployment's role rarely is one.
  await connection.query(`alter role ${role} set temp_file_limit = '1GB'`).catch(() => undefined);
}

async function makeDatabase(connection: PoolClient, { databaseName, roleName }: OwnDatabase): Promise<void> {
  const database = quoteName(databaseName);
  const { rowCount } = await connection.query('select from pg_database where datname = $1', [databaseName]);
  if (rowCount === 0)
    await connection.query(`create database ${database} owner ${quoteName(roleName)} template template0`);
  await connection.query(`revoke all on database ${database} from public`);
}

const derive = promisify(pbkdf2);
const ITERATIONS = 4096;

/** What Postgres stores of a password (SCRAM-SHA-256, RFC 5803). */
async function scramVerifier(password: string): Promise<string> {
  const salt = randomBytes(16);
  const salted = await derive(password, salt, ITERATIONS, 32, 'sha256');
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${keyed('Server Key').toString('base64')}`;
}
