import type { Pool } from '#shared/db/pool.ts';
import { resumeSpreading } from '#shared/deployment-roles.ts';
import type { Runs } from '#shared/runs.ts';
import { resumeDeletions } from '#shared/tenants.ts';

/** How long rows of growing tables are kept, in milliseconds. */
export interface Retention {
  runsMs: number;
  queryRunsMs: number;
  operatorAuditMs: number;
}

/** Removes old rows of every growing table and resumes interrupted deletions; one round. */
export async function retire(
  pool: Pool,
  runs: Runs,
  { runsMs, queryRunsMs, operatorAuditMs }: Retention,
): Promise<void> {
  for (const table of ['idempotency', 'ask_claim', 'ask_reply', 'query_cache', 'result_page', 'oauth_flow'])
    await pool.query(
      `delete from ${table} where ctid = any(array(select ctid from ${table} where expires_at < now() limit 5000))`,
    );
  await pool.query(`delete from worker_session where ended_at < now() - interval '7 days'`);
  await pool.query(`delete from policy_change where created_at < now() - interval '7 days'`);
  await pool.query(RETIRE_LIMITS);
  await pool.query(`delete from operator_session where expires_at < now() - interval '90 days'`);
  await pool.query(RETIRE_OPERATOR_AUDIT, [operatorAuditMs / 1000]);
  await pool.query(RETIRE_QUERY_RUNS, [queryRunsMs / 1000]);
  await pool.query(RETIRE_RUNS, [runsMs / 1000]);
  await pool.query(RETIRE_VERSIONS, [runsMs / 1000]);
  await resumeDeletions(pool, runs);
  await resumeSpreading(pool);
}

// Milliseconds since 1970, as rate-limiter-flexible writes them.
const RETIRE_LIMITS = `
delete from rate_limit where ctid = any(array(
  select ctid from rate_limit where expire < extract(epoch from now()) * 1000 limit 5000))`;

const RETIRE_OPERATOR_AUDIT = `
delete from operator_audit where ctid = any(array(
  select ctid from operator_audit where created_at < now() - make_interval(secs => $1) limit 5000))`;

const RETIRE_QUERY_RUNS = `
delete from query_run where ctid = any(array(
  select ctid from query_run where started_at < now() - make_interval(secs => $1) limit 5000))`;

const RETIRE_RUNS = `
with old as (
  select id from workflow_instance where completed_at < now() - make_interval(secs => $1) order by completed_at limit 1000 for update skip locked
),
events as (delete from run_event e using old where e.instance_id = old.id),
requests as (delete from collection_request c using old where c.instance_id = old.id)
delete from workflow_instance i using old where i.id = old.id`;

const RETIRE_VERSIONS = `
delete from workflow_version v
where v.created_at < now() - make_interval(secs => $1)
  and not exists (select from workflow w where w.version_id = v.id)
  and not exists (select from workflow_instance i where i.version_id = v.id)`;
