import type { Rights } from '#shared/access/policy/rights.ts';
import type { Caller } from '#shared/core/caller.ts';
import type { Pool, PoolClient } from '#shared/db/pool.ts';
import { joinConditions, type RunFilter, runConditions } from '#shared/runs/batches/filter.ts';
import type { BatchJob } from '#shared/runs/batches/job.ts';
import type { Runs } from '#shared/runs/runs.ts';
import type { RunsInFlight } from '#shared/tenants/counted-quotas.ts';
import type { RunStatus } from '#shared/workflow/progress/status.ts';

/** Runs of a page. The batch is locked while they are written. */
export const PAGE = 50;

export interface FillNeeds {
  pool: Pool;
  runs: Pick<Runs, 'end' | 'wake' | 'dispatchQueued'>;
  rights: Rights;
  inFlight: Pick<RunsInFlight, 'addMany'>;
}

export interface Filling {
  id: string;
  tenant_id: string;
  caller: Caller;
  asked: unknown;
  created_at: Date;
  cursor_at: Date | null;
  cursor_id: string | null;
  looked_at: number;
}

export interface Found {
  id: string;
  created_at: Date;
  workflow_id: string | null;
}

export interface Page {
  found: readonly Found[];
  done: number;
  refused: number;
  /** Why the last refused run was refused. */
  error: string | null;
  /** Whether no page follows. */
  isLast: boolean;
}

export interface Doing<Does extends BatchJob['does']> {
  batch: Filling;
  job: Extract<BatchJob, { does: Does }>;
}

/** The runs whose workflows the caller of the batch may execute now. */
export async function ofPermitted<F extends Found>(rights: Rights, batch: Filling, found: readonly F[]): Promise<F[]> {
  const subject = { tenantID: batch.tenant_id, caller: batch.caller };
  const allowed = new Map<string | null, boolean>();
  for (const { workflow_id } of found) {
    if (allowed.has(workflow_id)) continue;
    const object = `workflow:${workflow_id ?? '*'}`;
    allowed.set(workflow_id, await rights.may(subject, { permission: 'workflow.execute', object }));
  }
  return found.filter(({ workflow_id }) => allowed.get(workflow_id));
}

export const NOT_ALLOWED = 'The caller may not execute the workflow of a run';

interface Finding {
  filter: RunFilter;
  /** Each status is queried separately, because the index is in the order of the pages only within a status. */
  statuses: readonly RunStatus[];
  condition: string;
  columns: string;
  count: number;
}

/** Finds the runs after the last page, newest first; none that was accepted after the batch. */
export async function findPage<F extends Found>(
  client: PoolClient,
  batch: Filling,
  { filter: { status: _, ...filter }, statuses, condition, columns, count }: Finding,
): Promise<F[]> {
  const { sql, params } = joinConditions(runConditions(batch.tenant_id, filter), 'i', 6);
  const parts = statuses.map(
    (status) => `(
  select i.id, i.created_at, i.workflow_id, ${columns} from workflow_instance i
  where i.tenant_id = $1 and i.status = '${status}' and ${condition} and i.created_at <= $2
    and ($3::timestamptz is null or (i.created_at, i.id) < ($3, $4::uuid)) and ${sql}
  order by i.created_at desc, i.id desc limit $5)`,
  );
  const { rows } = await client.query<F>(
    `select * from (${parts.join(' union all ')}) page order by created_at desc, id desc limit $5`,
    [batch.tenant_id, batch.created_at, batch.cursor_at, batch.cursor_id, count, ...params],
  );
  return rows;
}
