import type { Pool } from '#shared/db/pool.ts';
import { nodeEvents } from '#shared/runs/node-event-rows.ts';

/** The newest ended runs that are looked at. */
const RUNS = 5_000;
const RUNS_FOR_NODES = 300;
/** Events of each run. */
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

/** In milliseconds. */
export interface Percentiles {
  p50: number;
  p95: number;
  p99: number;
}

/** How fast the runs of a class were: from when they might begin to when they did, and from there to their end. */
export interface SpeedRow {
  class: string;
  runs: number;
  waited: Percentiles;
  took: Percentiles;
}

/** Ended runs that were looked at: how many, and how far back they go. */
export interface Sample {
  runs: number;
  since: Date | null;
}

/** Reads the runs from which failures and speeds are computed. */
export function readSample(pool: Pool): Promise<Sample> {
  return sampleOf(pool, RUNS);
}

export async function readFailures(pool: Pool): Promise<FailureRow[]> {
  return (await pool.query<FailureRow>(FAILURES)).rows;
}

export async function readSlowNodes(pool: Pool): Promise<{ sample: Sample; rows: SlowNodeRow[] }> {
  const { rows } = await pool.query<SlowNodeRow>(SLOW_NODES);
  return { rows, sample: await sampleOf(pool, RUNS_FOR_NODES) };
}

export async function readSpeeds(pool: Pool): Promise<SpeedRow[]> {
  const { rows } = await pool.query<{ class: string; runs: number; waited: number[]; took: number[] }>(SPEEDS);
  return rows.map(({ waited, took, ...row }) => ({ ...row, waited: percentiles(waited), took: percentiles(took) }));
}

function percentiles([p50 = 0, p95 = 0, p99 = 0]: readonly number[]): Percentiles {
  return { p50: Math.round(p50), p95: Math.round(p95), p99: Math.round(p99) };
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
  from (${newest('id, tenant_id, status, error, completed_at', RUNS)}) ended
  where status = 'FAILED' group by 1 order by 2 desc, 1 limit ${SHOWN}
) failed left join tenant t on t.id = failed."lastTenantID" order by runs desc, code`;

const percentilesOf = (from: string, to: string) =>
  `percentile_cont(array[0.5, 0.95, 0.99]) within group (order by greatest(0, extract(epoch from ${to} - ${from}) * 1000)::float8)`;

const SPEEDS = `
select class, count(*)::int as runs, ${percentilesOf('greatest(created_at, start_at)', 'started_at')} as waited,
  ${percentilesOf('started_at', 'completed_at')} as took
from (${newest('class, created_at, start_at, started_at, completed_at', RUNS)}) ended
where started_at is not null group by class order by runs desc, class`;

// Time from the start of an attempt to its outcome. A node that ends at once has no event of its start.
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
