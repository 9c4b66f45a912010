import type { Json } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import { LogLevel } from '#shared/workflow/nodes/kinds/log.ts';
import type { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import { wordCut } from '#shared/workflow/run-log.ts';

export interface LogRow {
  seq: number;
  n: number;
  source: 'node' | 'engine';
  level: LogLevel;
  nodeID: string | null;
  iteration: number;
  frame: IterationPath | null;
  attempt: number;
  message: string;
  data: Json;
  at: Date;
}

interface Wanted {
  level: LogLevel;
  nodeID?: string | undefined;
  q?: string | undefined;
  limit: number;
  cursor?: { seq: number; n: number } | undefined;
}

/** The lines of a run's log: one more than `limit`, if there is one. */
export async function findLogLines(
  pool: Pool,
  instanceID: string,
  { level, nodeID, q, limit, cursor }: Wanted,
): Promise<LogRow[]> {
  const levels = LogLevel.options.slice(LogLevel.options.indexOf(level));
  const { seq = 0, n = 0 } = cursor ?? {};
  const values = [instanceID, seq, n, nodeID ?? null, levels, q?.toLowerCase() ?? null, limit + 1];
  const { rows } = await pool.query<LogRow & { cutLines: number; cutBytes: number }>(LOG_LINES, values);
  return rows.map(({ cutLines, cutBytes, ...row }) =>
    cutLines > 0 ? { ...row, message: wordCut({ lines: cutLines, bytes: cutBytes }) } : row,
  );
}

/**
 * Numbers of the line about lines that were not stored, and of the line about the outcome: both come behind the lines of
 * the attempt.
 */
const CUT = 1_000_000_000;
const OUTCOME = 1_000_000_001;

const levelOf = `case e.status when 'FAILED' then 'error' when 'CANCELLED' then 'warn' when 'SUCCESS' then 'info' when 'COMPLETED' then 'info' else 'debug' end`;
const wordsOf = `case e.status when 'RUNNING' then 'started' when 'SUCCESS' then 'succeeded' when 'FAILED' then 'failed' when 'SKIPPED' then 'skipped'
  when 'SUSPENDED' then 'waits' when 'WAITING' then 'waits' when 'COMPLETED' then 'completed' else 'cancelled' end`;
// A row of `run_event` may cover several numbers and is stored under the last; its own event has the first.
const numberOf = '(select e.seq - coalesce(jsonb_array_length(e.started), 0) as seq)';

// Rows of `run_event` are read in order from the cursor on, and no more than a page needs; each gives, in order, what its attempt has
// printed, its outcome, and the nodes that it has started. Only the lines of the page then look for the start of their attempt, backwards.
export const LOG_LINES = `
with page as (
  select e.seq as row_seq, line.*
  from run_event e cross join lateral (
    select own.seq, t.n::int as n, 'node' as source, t.line ->> 'level' as level, l.node_id as "nodeID", e.iteration, e.frame, e.attempt,
           t.line ->> 'message' as message, t.line -> 'data' as data, (t.line ->> 'at')::timestamptz as at, t.cut_lines as "cutLines",
           t.cut_bytes as "cutBytes", null as status
    from ${numberOf} own cross join run_log l cross join lateral (
      select line, n, 0 as cut_lines, 0 as cut_bytes from jsonb_array_elements(l.lines) with ordinality as each(line, n)
      union all
      select jsonb_build_object('level', 'warn', 'message', '', 'at', e.created_at), ${CUT}, l.cut_lines, l.cut_bytes where l.cut_lines > 0
    ) t
    where l.instance_id = $1 and l.seq = e.seq
    union all
    select own.seq, ${OUTCOME}, 'engine', ${levelOf}, e.node_id, e.iteration, e.frame, case when e.node_id is null then 1 else e.attempt end,
           case when e.node_id is null then 'Run ' else 'Node ' end || ${wordsOf}
             || case when e.status = 'FAILED' then coalesce(': ' || (e.payload #>> '{error,message}'), '') else '' end,
           jsonb_strip_nulls(jsonb_build_object('status', e.status, 'exit', e.exit)), e.created_at, 0, 0, e.status
    from ${numberOf} own
    union all
    select own.seq + s.n, ${OUTCOME}, 'engine', 'debug', coalesce(s.value ->> 'nodeID', s.value #>> '{}'),
           coalesce((s.value #>> '{frame,-1,iteration}')::int, e.iteration), coalesce(s.value -> 'frame', e.frame), 1, 'Node started',
           '{"status": "RUNNING"}'::jsonb, e.created_at, 0, 0, 'RUNNING'
    from ${numberOf} own cross join jsonb_array_elements(e.started) with ordinality as s(value, n)
  ) line
  where e.instance_id = $1 and e.seq >= $2 and (line.seq, line.n) > ($2::bigint, $3::int)
    and ($4::text is null or line."nodeID" = $4) and line.level = any($5::text[])
    and ($6::text is null or strpos(lower(line.message), $6) > 0)
  order by e.seq, line.seq, line.n limit $7
)
select page.seq, n, source, level, "nodeID", iteration, frame, attempt, message, page.at, "cutLines", "cutBytes",
       data || jsonb_strip_nulls(jsonb_build_object(
         'durationMs', case when source = 'engine' and page.status <> 'RUNNING' then round(extract(epoch from page.at - began.created_at) * 1000) end,
         'storedBytes', case when page.status = 'SUCCESS' then (
           select pg_column_size(p.payload) from run_event p where p.instance_id = $1 and p.seq = page.row_seq) end)) as data
from page left join lateral (
  select p.created_at from run_event p
  where page.source = 'engine' and page.status in ('SUCCESS', 'FAILED', 'CANCELLED', 'SUSPENDED') and page."nodeID" is not null
    and p.instance_id = $1 and p.seq < page.row_seq
    and (p.node_id = page."nodeID" and p.status = 'RUNNING' and p.frame is not distinct from page.frame
      or exists (
        select from jsonb_array_elements(p.started) s
        where coalesce(s ->> 'nodeID', s #>> '{}') = page."nodeID" and coalesce(s -> 'frame', p.frame) is not distinct from page.frame))
  order by p.seq desc limit 1
) began on true
order by page.row_seq, page.seq, n`;
