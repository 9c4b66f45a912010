import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from '../db/pool.ts';

/** Tells workers that a database may have to be dropped. */
export const TENANT_DELETED_CHANNEL = 'tenant.deleted';

/** The part of `Runs` (shared/runs) that ends runs; `shared/tenants` depends on nothing else of it. */
interface EndsRuns {
  end(ending: { tenantID: string; ids: string[]; status: 'CANCELLED'; error: null }): Promise<unknown>;
}

const BATCH = 500;
const MAX_ROUNDS = 50;

/**
 * Shuts the tenant for good. Repeated during the deletion as its heartbeat.
 * Returns whether the tenant still exists.
 */
export async function shutTenant(pool: Pool, tenantID: string): Promise<boolean> {
  const { rowCount } = await pool.query('update tenant set deleting_at = now() where id = $1', [tenantID]);
  return rowCount === 1;
}

/**
 * Deletes a tenant with everything it owns. Reaches no other server for that: workers drop the tenant's database later
 * (`tenant_database_removal`), and remove what its listeners have created at their servers (`listener_residue`). Shuts the tenant first; may
 * then be interrupted at any point and called again, also in another process (`resumeDeletions`).
 */
export async function deleteTenant(pool: Pool, runs: EndsRuns, tenantID: string): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    if (!(await shutTenant(pool, tenantID))) return;
    for (const statement of ACCESS) await repeatUntilEmpty(pool, tenantID, statement);
    await cancelRuns(pool, runs, tenantID);
    await pool.query('delete from tenant_database where tenant_id = $1', [tenantID]);
    for (const statement of ROWS) await repeatUntilEmpty(pool, tenantID, statement);
    if (await deleteRow(pool, tenantID)) return;
    // A request that began before the tenant was shut has written a row: repeat.
    await sleep(20 * round);
  }
  throw new Error(`Tenant ${tenantID} is still being written to`);
}

/** Deletions of one round. */
const MAX_RESUMED = 10;

/**
 * Continues deletions whose process has ended. A deletion that fails is reported, does not stop the others, and is tried again later.
 * Returns the number of tenants it deleted.
 */
export async function resumeDeletions(
  pool: Pool,
  runs: EndsRuns,
  report: (error: unknown, tenantID: string) => void,
): Promise<number> {
  let done = 0;
  for (let n = 0; n < MAX_RESUMED; n += 1) {
    const { rows } = await pool.query<{ id: string }>(CLAIM_DELETION);
    const [tenant] = rows;
    if (!tenant) break;
    try {
      await deleteTenant(pool, runs, tenant.id);
      done += 1;
    } catch (error) {
      report(error, tenant.id);
    }
  }
  return done;
}

// Writing the heartbeat (`deleting_at`) claims the deletion.
const CLAIM_DELETION = `
update tenant set deleting_at = now()
where id = (select id from tenant where deleting_at < now() - interval '30 seconds'
            order by deleting_at limit 1 for update skip locked)
returning id`;

async function cancelRuns(pool: Pool, runs: EndsRuns, tenantID: string): Promise<void> {
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

async function repeatUntilEmpty(pool: Pool, tenantID: string, statement: string): Promise<void> {
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

// Skips locked rows: two processes that delete the same tenant delete different rows.
const batchOf = (table: string) =>
  `delete from ${table} where ctid = any(array(select ctid from ${table} where tenant_id = $1 limit ${BATCH} for update skip locked))`;

/** Deleted first: without these rows no request is permitted. */
const ACCESS = ['policy_rule', 'policy_change', 'membership', 'invitation'].map(batchOf);

const ROWS = [
  `
with run as (select id from workflow_instance where tenant_id = $1 and completed_at is not null limit ${BATCH} for update skip locked),
event as (delete from run_event where instance_id in (select id from run)),
log as (delete from run_log where instance_id in (select id from run)),
wait as (delete from run_wait where instance_id in (select id from run)),
checkpoint as (delete from run_checkpoint where instance_id in (select id from run)),
map as (delete from run_map where instance_id in (select id from run)),
tag as (delete from run_tag where instance_id in (select id from run)),
failure as (delete from run_failure where instance_id in (select id from run)),
delivery as (delete from run_delivery where instance_id in (select id from run)),
request as (delete from collection_request where instance_id in (select id from run)),
awaited as (delete from event_wait where instance_id in (select id from run))
delete from workflow_instance where id in (select id from run)`,
  ...[
    'run_batch',
    'listener_event',
    'listener_breaker',
    'listener_buffer',
    'listener_dedup',
    'listener_refusal',
    'listener_usage',
    'listener_action',
    'listener_lease',
    'listener',
    'query_run',
    'query_cache',
    'result_page',
    'data_query',
    'widget',
    'datasource',
    'oauth_flow',
    'oauth_connection',
    'cron_tick',
    'cron_end',
    'cron_backfill',
    'cron_job',
    'dashboard',
    'app_page',
    'asset_version',
    'bundle_key',
    'bundle_import',
    'import_job',
    'folder',
    'notification',
    'asset_change',
    'tenant_variable',
    'tenant_file',
    'api_key',
    'tenant_logo',
    'collection_request',
    'workflow_version',
    'run_retention',
    'tenant_usage',
    'workflow',
    'user_config',
    'role',
    'idempotency',
    'tenant_dispatch',
    'freed_key',
    'workflow_event',
    'event_wait',
    'ai_tool_call',
    'ai_chunk',
    'ai_answer',
    'ai_message',
    'ai_session',
    'ai_config',
    'ai_call',
    'ai_usage',
    'audit_record',
    'audit_seal',
  ].map(batchOf),
  'delete from widget_library_entry where source_tenant_id = $1',
  'delete from quota where owner_id = $1',
];
