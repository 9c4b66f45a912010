import type { Pool } from '#shared/db/pool.ts';
import { parseDuration, showDuration } from '#shared/workflow/duration.ts';
import { type RunTimeLimit, runTimeLimit, WorkflowOptions } from '#shared/workflow/options.ts';

export interface OverdueRun {
  id: string;
  parentID: string | null;
  /** Says which limit the run has exceeded, and where it is set. */
  message: string;
}

/** Finds runs past their deadline. Those around others come first: their end cancels their parts. */
export async function findOverdue(
  pool: Pool,
  { max, except }: { max: number; except: readonly string[] },
): Promise<OverdueRun[]> {
  const found = await pool.query<{ id: string; parent_id: string | null }>({
    name: 'sweep_find_overdue_runs',
    text: FIND_OVERDUE,
    values: [max, except],
  });
  if (found.rows.length === 0) return [];
  const { rows } = await pool.query<LimitRow>(LIMITS, [found.rows.map(({ id }) => id)]);
  const limitOf = new Map(rows.map((row) => [row.id, row]));
  const isPart = ({ id }: { id: string }) => limitOf.get(id)?.is_own === false;
  return [...found.rows.filter((row) => !isPart(row)), ...found.rows.filter(isPart)].map(
    ({ id, parent_id: parentID }) => ({ id, parentID, message: messageOf(limitOf.get(id)) }),
  );
}

function messageOf(row: LimitRow | undefined): string {
  // The row is missing if the run was deleted meanwhile.
  if (!row) return 'The run took longer than its limit';
  const options = WorkflowOptions.safeParse(row.options).data ?? WorkflowOptions.parse({});
  const { queueTimeout } = options;
  if (row.is_queued) {
    const limit = queueTimeout === undefined ? 'its limit' : showDuration(parseDuration(queueTimeout));
    return `The run waited longer for its beginning than ${limit} (\`queueTimeout\` of its workflow)`;
  }
  const { ms, setBy } = shorter(runTimeLimit(options), row.job_seconds);
  const limit = `${showDuration(ms)} (${setBy})`;
  return row.is_own
    ? `The run took longer than ${limit}`
    : `The run had to end with the run that it is a part of, which took longer than ${limit}`;
}

/** A cron job limits the runs that it starts as well. */
function shorter(limit: RunTimeLimit, seconds: number | null): RunTimeLimit {
  if (seconds === null || seconds * 1_000 >= limit.ms) return limit;
  return { ms: seconds * 1_000, setBy: '`timeoutSeconds` of its cron job' };
}

interface LimitRow {
  id: string;
  /** Whether the limit is that of the run itself, not of a run around it. */
  is_own: boolean;
  is_queued: boolean;
  options: unknown;
  job_seconds: number | null;
}

const FIND_OVERDUE = `
select id, parent_id from workflow_instance
where completed_at is null and deadline_at <= now() and id <> all($2::uuid[]) order by deadline_at limit $1`;

// A part of a run, a sub-workflow or a chunk of a map, ends at the deadline of the run around it at the latest: the limit is that of the outermost
// run with the same deadline.
const LIMITS = `
with recursive around as (
  select i.id as part, i.id, i.parent_id, i.deadline_at, 0 as n from workflow_instance i where i.id = any($1::uuid[])
  union all
  select around.part, p.id, p.parent_id, p.deadline_at, around.n + 1
  from around join workflow_instance p on p.id = around.parent_id and p.deadline_at = around.deadline_at
),
limiting as (select distinct on (part) part, id from around order by part, n desc)
select limiting.part as id, limiting.part = i.id as is_own, i.run_limit is not null and i.started_at is null as is_queued, v.options,
  j.timeout_seconds as job_seconds
from limiting join workflow_instance i on i.id = limiting.id
left join workflow_version v on v.id = i.version_id
left join cron_tick t on t.id = i.cron_tick_id left join cron_job j on j.id = t.cron_job_id`;
