import type { Pool, PoolClient } from '../db/pool.ts';

type Queryable = Pick<Pool | PoolClient, 'query'>;

/** Null: the setting of the tenant holds, or else that of the deployment. */
interface Retention {
  days: number | null;
  runs: number | null;
}

interface RetentionScope {
  tenantID: string;
  /** Null: the setting of the tenant, for all its workflows without a setting of their own. */
  workflowID: string | null;
}

/** Reads the retention of a workflow and of its tenant; without a workflow both are the tenant's. Undefined if there is no such workflow. */
export async function readRetention(
  on: Queryable,
  { tenantID, workflowID }: RetentionScope,
): Promise<{ own: Retention; ofTenant: Retention } | undefined> {
  const { rows } = await on.query<Record<'days' | 'runs' | 'tenantDays' | 'tenantRuns', number | null>>(READ, [
    tenantID,
    workflowID,
  ]);
  const [row] = rows;
  if (!row) return undefined;
  return { own: { days: row.days, runs: row.runs }, ofTenant: { days: row.tenantDays, runs: row.tenantRuns } };
}

const READ = `
select own.days, own.runs, of_all.days as "tenantDays", of_all.runs as "tenantRuns"
from tenant t
left join run_retention own on own.tenant_id = t.id and own.workflow_id is not distinct from $2::uuid
left join run_retention of_all on of_all.tenant_id = t.id and of_all.workflow_id is null
where t.id = $1 and ($2::uuid is null or exists (select from workflow w where w.id = $2 and w.tenant_id = $1))`;

/** Sets the fields that `changes` has. Does nothing for a workflow that does not exist. */
export async function setRetention(
  on: Queryable,
  { tenantID, workflowID }: RetentionScope,
  changes: Partial<Retention>,
): Promise<void> {
  const { days, runs } = changes;
  await on.query(SET, [tenantID, workflowID, days ?? null, runs ?? null, days !== undefined, runs !== undefined]);
}

// The row of the tenant or the workflow is locked, so that it cannot be deleted meanwhile and leave a row here.
const SET = `
insert into run_retention as r (tenant_id, workflow_id, days, runs)
select $1, $2::uuid, $3::int, $4::int
where case when $2::uuid is null then (select true from tenant where id = $1 and deleting_at is null for key share)
  else (select true from workflow where id = $2 and tenant_id = $1 for key share) end
on conflict (tenant_id, workflow_id) do update
set days = case when $5::bool then excluded.days else r.days end, runs = case when $6::bool then excluded.runs else r.runs end,
  updated_at = now()`;

/** The time since which no ended run was deleted, of a tenant or of all tenants. `runsMs`: retention of the deployment; `maxRunsMs`: its maximum. */
export async function completeSince(
  pool: Pool,
  { tenantID, runsMs, maxRunsMs }: { tenantID?: string; runsMs: number; maxRunsMs: number },
): Promise<Date> {
  const { rows } = await pool.query<{ since: Date }>(
    tenantID === undefined ? sinceOf('true', 'true') : sinceOf('r.tenant_id = $3', 'u.tenant_id = $3'),
    [runsMs / 1000, maxRunsMs / 1000, ...(tenantID === undefined ? [] : [tenantID])],
  );
  return rows[0]?.since ?? new Date(Date.now() - runsMs);
}

// Runs that were deleted before a period became longer stay deleted.
const sinceOf = (ofRules: string, ofUsage: string) => `
with rule as materialized (
  select tenant_id, workflow_id, updated_at, least(days * 86400::float8, $2::float8) as seconds
  from run_retention r where ${ofRules} and days is not null
)
select greatest(
  now() - make_interval(secs => least(
    ${ofRules === 'true' ? '$1::float8' : 'coalesce((select seconds from rule where workflow_id is null), $1::float8)'},
    (select min(seconds) from rule))),
  (select max(updated_at) from rule where seconds > $1::float8) - make_interval(secs => $1::float8),
  (select max(u.runs_deleted_until) from tenant_usage u where ${ofUsage})
) as since`;
