import { nodeEvents } from '#shared/db/node-events.ts';
import type { Pool } from '#shared/db/pool.ts';

/** The newest ended runs that are looked at. */
const RUNS_FOR_FAILURES = 5_000;
const RUNS_FOR_NODES = 300;
/** Of each run. */
const EVENTS = 60;
const SHOWN = 20;

export interface FailureRow {
  code: string;
  runs: number;
  tenants: number;
  lastTenantID: string;
  lastTenantTitle: string | null;
  lastInstanceID: string;
  lastAt: Date;
}

export interface SlowNodeRow {
  tenantID: string;
  tenantTitle: string | null;
  workflowID: string | null;
  workflowTitle: string | null;
  nodeID: string;
  times: number;
  medianMs: number;
  slowestMs: number;
}

/** Ended runs that were looked at: how many, and how far back they go. */
export interface Sample {
  runs: number;
  since: Date | null;
}

export async function readFailures(pool: Pool): Promise<{ sample: Sample; rows: FailureRow[] }> {
  const { rows } = await pool.query<FailureRow>(FAILURES);
  return { rows, sample: await sampleOf(pool, RUNS_FOR_FAILURES) };
}

export async function readSlowNodes(pool: Pool): Promise<{ sample: Sample; rows: SlowNodeRow[] }> {
  const { rows } = await pool.query<SlowNodeRow>(SLOW_NODES);
  return { rows, sample: await sampleOf(pool, RUNS_FOR_NODES) };
}

async function sampleOf(pool: Pool, limit: number): Promise<Sample> {
  const { rows } = await pool.query<Sample>(
    `select count(*)::int as runs, min(completed_at) as since from (${newest('completed_at', limit)}) newest`,
  );
  return rows[0] ?? { runs: 0, since: null };
}

const newest = (columns: string, limit: number) => `
  select ${columns} from workflow_instance
  where completed_at is not null and completed_at > now() - interval '1 hour' order by completed_at desc limit ${limit}`;

const FAILURES = `
select failed.*, t.tenant_title as "lastTenantTitle" from (
  select coalesce(error ->> 'code', 'INTERNAL_ERROR') as code, count(*)::int as runs, count(distinct tenant_id)::int as tenants,
    (array_agg(tenant_id order by completed_at desc))[1] as "lastTenantID",
    (array_agg(id order by completed_at desc))[1] as "lastInstanceID", max(completed_at) as "lastAt"
  from (${newest('id, tenant_id, status, error, completed_at', RUNS_FOR_FAILURES)}) ended
  where status = 'FAILED' group by 1 order by 2 desc, 1 limit ${SHOWN}
) failed left join tenant t on t.id = failed."lastTenantID" order by runs desc, code`;

// From the start of an attempt to its outcome. A node that takes no time has no start among the events.
const SLOW_NODES = `
with ended as (${newest('id, tenant_id, workflow_id', RUNS_FOR_NODES)}),
event as (
  select ended.*, e.* from ended cross join lateral (
    select node_id, iteration, frame, attempt, status, at from (${nodeEvents('e.instance_id = ended.id')}) each order by seq limit ${EVENTS}
  ) e
),
step as (
  select tenant_id, workflow_id, node_id,
    extract(epoch from max(at) filter (where status in ('SUCCESS', 'FAILED')) - min(at) filter (where status = 'RUNNING')) * 1000 as ms
  from event group by tenant_id, workflow_id, id, node_id, iteration, frame, attempt
  having bool_and(status in ('RUNNING', 'SUCCESS', 'FAILED'))
)
select s.*, t.tenant_title as "tenantTitle", w.title as "workflowTitle" from (
  select tenant_id as "tenantID", workflow_id as "workflowID", node_id as "nodeID", count(*)::int as times,
    (percentile_cont(0.5) within group (order by ms))::float8 as "medianMs", max(ms)::float8 as "slowestMs"
  from step where ms is not null group by 1, 2, 3 order by "medianMs" desc limit ${SHOWN}
) s left join tenant t on t.id = s."tenantID" left join workflow w on w.id = s."workflowID" order by "medianMs" desc, "nodeID"`;
