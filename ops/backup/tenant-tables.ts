/** How one tenant is cut out of a backup of all. */
import type { Table } from './tables.ts';

/** Rows that belong to a tenant by another row: the column, and the table of the tenant with its column. */
const BELONGS: Readonly<Record<string, { column: string; to: string; key: string }>> = {
  app_user: { column: 'id', to: 'membership', key: 'user_id' },
  run_event: { column: 'instance_id', to: 'workflow_instance', key: 'id' },
  run_log: { column: 'instance_id', to: 'workflow_instance', key: 'id' },
  run_checkpoint: { column: 'instance_id', to: 'workflow_instance', key: 'id' },
  run_map: { column: 'instance_id', to: 'workflow_instance', key: 'id' },
  map_chunk: { column: 'map_id', to: 'run_map', key: 'id' },
  tenant_file_chunk: { column: 'file_id', to: 'tenant_file', key: 'id' },
};

/** Tables whose rows would act by themselves, or belong to work that was under way. */
const NOT_RESTORED: readonly string[] = [
  'cron_end',
  'event_wait',
  'freed_key',
  'import_job',
  'listener_lease',
  'listener_residue',
  'oauth_flow',
  'oauth_revocation',
  // Rules are loaded anew: see the version of the tenant below.
  'policy_change',
  'run_notice',
  'run_wait',
];

export interface TenantTable extends Table {
  /** The column that has the id of the tenant; absent if rows belong to it by another row. */
  tenantColumn?: string;
  /** The row of the tenant that rows belong to. */
  belongs?: { column: string; to: string; key: string };
}

/** The tables with rows of one tenant, in the order in which they are loaded. */
export function tenantTables(tables: readonly Table[]): TenantTable[] {
  return tables.flatMap((table): TenantTable[] => {
    const { name, columns } = table;
    if (NOT_RESTORED.includes(name)) return [];
    const belongs = BELONGS[name];
    if (belongs) return [{ ...table, belongs }];
    const tenantColumn =
      name === 'tenant' ? 'id' : name === 'quota' ? 'owner_id' : columns.find((column) => column === 'tenant_id');
    return tenantColumn ? [{ ...table, tenantColumn }] : [];
  });
}

/** A tenant that is restored is shut until all of it is there. No deletion began then, so none is continued. */
export const SHUT = `timestamptz '9999-12-31 00:00:00Z'`;

/** Changes of the loaded rows, by table: nothing that was open goes on by itself, and nothing starts. Runs are ended where they are inserted. */
export const SWITCHED_OFF: Readonly<Record<string, string>> = {
  // Processes cache rules and listeners by version, also those of a tenant that was deleted: the time is above every count.
  tenant: `
set deleting_at = ${SHUT}, policy_version = extract(epoch from clock_timestamp()) * 1000, listeners_version = extract(epoch from clock_timestamp()) * 1000`,
  workflow_instance: 'set held_by = null, ready_at = null, wake_at = null where completed_at is null',
  run_delivery: `set status = 'FAILED', settled_at = now(), next_at = null where status = 'PENDING'`,
  run_failure: `set handled_at = now(), error = $1::jsonb ->> 'message' where handled_at is null`,
  run_batch: `set cancelled_at = now(), last_error = $1::jsonb ->> 'message' where asked is not null and filled_at is null and cancelled_at is null`,
  cron_backfill: `set cancelled_at = now() where filled_at is null and cancelled_at is null`,
  cron_tick: `
set status = 'FAILURE', outcome = case when outcome = 'queued' then 'missed' else outcome end, start_at = null, finished_at = now(), error = $1::jsonb
where status = 'SCHEDULED'`,
  listener_event: `
set state = 'dead', finished_at = now(), expires_at = now() + interval '30 days', error = $1::jsonb, dispatched_at = null, held_by = null
where state = 'pending'`,
  ai_tool_call: `set status = 'failed', output = to_json($1::jsonb ->> 'message')::text, claimed_until = null, ended_at = now() where status = 'ready'`,
  ai_answer: `set status = 'cancelled', is_unwanted = true, claimed_until = null, ended_at = now() where ended_at is null`,
  cron_job: `set paused_at = now() where paused_at is null`,
  listener: `set status = 'inactive' where status <> 'inactive'`,
  tenant_database: 'set move_id = null, moving_until = null, full_since = null, measured_at = null',
};
