import { setTimeout as sleep } from 'node:timers/promises';
import { newID } from '#shared/core/ids.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import { inTransaction, type Pool, type PoolClient } from '#shared/db/pool.ts';
import { withTenantDatabaseLock } from '#shared/tenants/database-lock.ts';
import { quoteLiteral, quoteName } from '../quote.ts';
import type { TenantServer, TenantServers } from '../servers/servers.ts';
import { copyDatabase, requirePrograms } from './dump.ts';
import { type OwnDatabase, type OwnDatabaseRow, openDatabase } from './owner-role.ts';
import { readOwnerSettings, writeOwnerSettings } from './owner-settings.ts';
import { hasPrepared } from './prepared.ts';
import { make } from './provision.ts';
import { dropRoleAndDatabase, endSessions } from './removals.ts';

export interface MoveNeeds {
  pool: Pool;
  servers: TenantServers;
  secrets: KeyRing;
  logger: Logger;
  /** Folder of `pg_dump` and `pg_restore`; undefined: those on the PATH. */
  programs: string | undefined;
}

interface Move {
  id: string;
  tenantID: string;
  database: OwnDatabase;
  from: TenantServer;
  to: TenantServer;
}

/** Lease of a move. If it is not renewed for so long, the move has failed, and work of the tenant continues on the old server. */
const LEASE_SECONDS = 30;
const RENEW_MS = 5_000;
/** Time that running statements of the tenant have to end. */
const MAX_WORK_MS = 20_000;

/**
 * Moves a tenant's database to another server. Until the last statement, which changes the row, the database on the old server stays
 * in use: a failure before leaves it as it was.
 */
export async function moveDatabase(
  { tenantID, target }: { tenantID: string; target: string },
  needs: MoveNeeds,
): Promise<void> {
  const { pool, servers } = needs;
  const to = servers.listed.find(({ name }) => name === target);
  if (!to)
    throw new Error(
      `TENANT_DATABASES_URL names no server "${target}"; it names ${servers.listed.map(({ name }) => name).join(', ')}`,
    );
  const database = await find(tenantID, needs);
  const from = servers.find(database.server);
  if (!from)
    throw new Error(`TENANT_DATABASES_URL does not name the server "${database.server}", where the database is`);
  if (from.name === to.name) throw new Error(`The database is on the server "${to.name}" already`);
  await requirePrograms(needs.programs ?? '', [from, to]);
  // The second of two moves waits, and finds the database where the first has put it.
  await withTenantDatabaseLock(pool, tenantID, async () => {
    const now = await find(tenantID, needs);
    if (now.server !== from.name) throw new Error('The database was moved meanwhile');
    await copyLocked({ id: newID(), tenantID, database: now, from, to }, needs);
  });
}

async function find(tenantID: string, needs: MoveNeeds): Promise<OwnDatabase> {
  const { rows } = await needs.pool.query<OwnDatabaseRow>(
    `select d.id, d.server, d.database_name, d.role_name, d.password from tenant_database d join tenant t on t.id = d.tenant_id
     where d.tenant_id::text = $1 and d.ready_at is not null and t.deleting_at is null`,
    [tenantID],
  );
  const [row] = rows;
  if (!row) throw new Error('This tenant has no database that Gantry has created');
  return await openDatabase(row, needs);
}

/** Copies the database while the tenant's work waits. */
async function copyLocked(move: Move, needs: MoveNeeds): Promise<void> {
  const { pool, logger } = needs;
  const lost = new AbortController();
  await pool.query(`update tenant_database set move_id = $2, moving_until = ${UNTIL} where id = $1`, [
    move.database.id,
    move.id,
  ]);
  const renewing = renew(move, pool, lost);
  try {
    await stopWork(move);
    await copy(move, needs, lost.signal);
    lost.signal.throwIfAborted();
    await change(move, pool);
  } catch (error) {
    await putBack(move, pool).catch((failure) =>
      logger.warn({ err: failure }, 'the next request puts back the sign-in'),
    );
    throw error;
  } finally {
    lost.abort(new Error('The move is over'));
    await renewing;
  }
}

/** Renews the lease of the move. After it has expired, the tenant may have changed data that the copy lacks, so the move fails. */
async function renew({ id }: Move, pool: Pool, lost: AbortController): Promise<void> {
  while (!lost.signal.aborted) {
    await sleep(RENEW_MS, undefined, { signal: lost.signal }).catch(() => undefined);
    if (lost.signal.aborted) return;
    try {
      const { rowCount } = await pool.query(RENEW, [id]);
      if (rowCount === 0) lost.abort(new Error('The move took too long to report; nothing was moved'));
    } catch {
      // The renewal is tried again. If it keeps failing, the lease expires.
    }
  }
}

/** Waits for running statements, then forbids the tenant's role to sign in and ends its sessions. */
async function stopWork({ from, database: { roleName } }: Move): Promise<void> {
  for (let waitedMs = 0; waitedMs < MAX_WORK_MS; waitedMs += 100) {
    const { rowCount } = await from.admin.query(WORKING, [roleName]);
    if (rowCount === 0) break;
    await sleep(100);
  }
  await from.admin.query(`alter role ${quoteName(roleName)} nologin`);
  await withAdmin(from, (connection) => endSessions(connection, roleName));
}

async function copy(
  { from, to, database }: Move,
  { pool, programs = '' }: MoveNeeds,
  signal: AbortSignal,
): Promise<void> {
  const { databaseName, roleName } = database;
  if (await hasPrepared(from.admin, databaseName))
    throw new Error('The database has prepared transactions, which a dump would lack; nothing was moved');
  // After an earlier move away from the target server, the database there may still be listed for removal: that would drop the copy.
  await pool.query('delete from tenant_database_removal where server = $1 and database_name = $2', [
    to.name,
    databaseName,
  ]);
  await withAdmin(to, async (connection) => {
    // An interrupted move may have left a role and a database.
    await dropRoleAndDatabase(connection, { server: to, databaseName, roleName });
  });
  const hasLargeObjects = await from.on(databaseName, async (client) => {
    const { rows } = await client.query<{ some: boolean }>(
      'select exists (select from pg_catalog.pg_largeobject_metadata) as some',
    );
    return rows[0]?.some ?? false;
  });
  // The prepared template lets tenants create no large objects, and so would not let them be restored.
  await make(to, database, hasLargeObjects ? 'template0' : undefined);
  await copyDatabase({ from, to, database, programs, signal });
  // A dump of one database lacks them.
  await writeOwnerSettings(to, await readOwnerSettings(from, database));
}

/** Switches the tenant to the copy, and lists the old database for removal. */
async function change({ id, tenantID, database, from, to }: Move, pool: Pool): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `update tenant_database set server = $3, move_id = null, moving_until = null, full_since = null, measured_at = null where id = $1 and move_id = $2 and moving_until > clock_timestamp()`,
      [database.id, id, to.name],
    );
    if (rowCount === 0) throw new Error('The move took too long to report; nothing was moved');
    await client.query(
      `insert into tenant_database_removal (id, deleted_tenant_id, server, database_name, role_name) values ($1, $2, $3, $4, $5)`,
      [id, tenantID, from.name, database.databaseName, database.roleName],
    );
  });
}

/** Lets the role sign in on the old server again, after a failed move. */
async function putBack({ id, from, database }: Move, pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ server: string; full: boolean }>(
    'select server, full_since is not null as full from tenant_database where id = $1',
    [database.id],
  );
  // The change may have been committed although its answer was lost: then there is nothing to undo.
  if (rows[0]?.server !== from.name) return;
  if (!rows[0].full) await from.admin.query(`alter role ${quoteName(database.roleName)} login`);
  await pool.query('update tenant_database set move_id = null, moving_until = null where move_id = $1', [id]);
}

async function withAdmin<T>({ admin }: TenantServer, work: (connection: PoolClient) => Promise<T>): Promise<T> {
  const connection = await admin.connect();
  try {
    return await work(connection);
  } finally {
    connection.release();
  }
}

const UNTIL = `clock_timestamp() + interval ${quoteLiteral(`${LEASE_SECONDS} seconds`)}`;
const RENEW = `update tenant_database set moving_until = ${UNTIL} where move_id = $1 and moving_until > clock_timestamp()`;
const WORKING = `select from pg_stat_activity where usename = $1 and state <> 'idle'`;
