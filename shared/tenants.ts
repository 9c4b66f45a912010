import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from './db/pool.ts';
import { withTenantDatabaseLock } from './db/tenant-database-lock.ts';
import type { Runs } from './runs.ts';

type Ending = Pick<Runs, 'end'>;

const BATCH = 500;
const PATIENCE_ROUNDS = 50;

/**
 * Shuts the tenant for good, and while it is being deleted says again and again that somebody is at it.
 * Answers whether it is still there.
 */
export async function shutTenant(pool: Pool, tenantID: string): Promise<boolean> {
  const { rowCount } = await pool.query('update tenant set deleting_at = now() where id = $1', [tenantID]);
  return rowCount === 1;
}

/**
 * Deletes a tenant with everything it owns: shuts it first, and may then be broken off at any point and called again, also
 * from another process (`resumeDeletions`).
 */
export async function deleteTenant(pool: Pool, runs: Ending, tenantID: string): Promise<void> {
  for (let round = 0; round < PATIENCE_ROUNDS; round += 1) {
    if (!(await shutTenant(pool, tenantID))) return;
    for (const statement of ACCESS) await repeat(pool, tenantID, statement);
    await cancelRuns(pool, runs, tenantID);
    await dropDatabase(pool, tenantID);
    for (const statement of ROWS) await repeat(pool, tenantID, statement);
    if (await deleteRow(pool, tenantID)) return;
    // A request that was under way when the tenant was shut has written something: once more.
    await sleep(20 * round);
  }
  throw new Error(`Tenant ${tenantID} is still being written to`);
}

/** Goes on with deletions whose process has ended. Answers how many tenants are gone now. */
export async function resumeDeletions(pool: Pool, runs: Ending): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from tenant where deleting_at < now() - interval '30 seconds' order by deleting_at limit 10`,
  );
  for (const { id } of rows) await deleteTenant(pool, runs, id);
  return rows.length;
}

async function cancelRuns(pool: Pool, runs: Ending, tenantID: string): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ id: string }>(
      `select id from workflow_instance where tenant_id = $1 and completed_at is null limit ${BATCH}`,
      [tenantID],
    );
    if (rows.length === 0) return;
    await runs.end({ tenantID, ids: rows.map(({ id }) => id), status: 'CANCELLED', error: null });
    await shutTenant(pool, tenantID);
  }
}

/** What was made for the tenant in our own Postgres. Neither statement can be part of a transaction, so both may find nothing. */
export async function dropDatabase(pool: Pool, tenantID: string): Promise<void> {
  await withTenantDatabaseLock(pool, tenantID, async (client) => {
    const { rows } = await client.query<{ database_name: string; role_name: string }>(
      'select database_name, role_name from tenant_database where tenant_id = $1',
      [tenantID],
    );
    for (const { database_name, role_name } of rows) {
      await client.query(`drop database if exists ${client.escapeIdentifier(database_name)} with (force)`);
      await client.query(`drop role if exists ${client.escapeIdentifier(role_name)}`);
      await client.query('delete from tenant_database where tenant_id = $1', [tenantID]);
    }
  });
}

async function repeat(pool: Pool, tenantID: string, statement: string): Promise<void> {
  for (;;) {
    const { rowCount } = await pool.query(statement, [tenantID]);
    if (!rowCount) return;
    await shutTenant(pool, tenantID);
  }
}

async function deleteRow(pool: Pool, tenantID: string): Promise<boolean> {
  try {
    await pool.query('delete from tenant where id = $1', [tenantID]);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === FOREIGN_KEY_VIOLATION) return false;
    throw error;
  }
}

const FOREIGN_KEY_VIOLATION = '23503';

// Two processes at the same tenant take different rows.
const batchOf = (table: string) =>
  `delete from ${table} where ctid = any(array(select ctid from ${table} where tenant_id = $1 limit ${BATCH} for update skip locked))`;

/** Gone first: from here on nobody may do anything. */
const ACCESS = ['policy_rule', 'policy_change', 'membership', 'invitation'].map(batchOf);

const ROWS = [
  `
with run as (select id from workflow_instance where tenant_id = $1 and completed_at is not null limit ${BATCH} for update skip locked),
event as (delete from run_event where instance_id in (select id from run)),
wait as (delete from run_wait where instance_id in (select id from run)),
request as (delete from collection_request where instance_id in (select id from run))
delete from workflow_instance where id in (select id from run)`,
  ...[
    'query_run',
    'query_cache',
    'result_page',
    'data_query',
    'datasource',
    'tenant_file',
    'api_key',
    'tenant_logo',
    'collection_request',
    'workflow_version',
    'workflow',
    'user_config',
    'role',
    'idempotency',
    'tenant_dispatch',
  ].map(batchOf),
];
