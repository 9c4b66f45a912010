import { nodeEvents } from '#shared/db/node-events.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Json } from '#shared/json.ts';
import { LogLevel } from '#shared/nodes/log.ts';
import { wordCut } from '#shared/run-logs.ts';
import type { IterationPath } from '#shared/workflow/frame.ts';

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

/** One line more than `limit`, if there is one. */
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

/** The place of the line about what was not kept, and of that about the outcome, behind the lines of the attempt. */
const CUT = 1_000_000_000;
const OUTCOME = 1_000_000_001;

const levelOf = `case status when 'FAILED' then 'error' when 'CANCELLED' then 'warn' when 'SUCCESS' then 'info' when 'COMPLETED' then 'info' else 'debug' end`;
const wordsOf = `case status when 'RUNNING' then 'started' when 'SUCCESS' then 'succeeded' when 'FAILED' then 'failed' when 'SKIPPED' then 'skipped'
  when 'SUSPENDED' then 'waits' when 'WAITING' then 'waits' when 'COMPLETED' then 'completed' else 'cancelled' end`;
// A row is stored under the last of its numbers, so it is the first from the number of any event that it covers.
const rowOf = (what: string) =>
  `(select ${what} from run_event p where p.instance_id = $1 and p.seq >= line.seq order by p.seq limit 1)`;

// Lines of a node stand before the event with its outcome. The stored size is that after compression.
export const LOG_LINES = `
with printed as (
  select e.seq - coalesce(jsonb_array_length(e.started), 0) as seq, t.n::int as n, 'node' as source, t.line ->> 'level' as level,
         l.node_id as "nodeID", e.iteration, e.frame, e.attempt, t.line ->> 'message' as message, t.line -> 'data' as data,
         (t.line ->> 'at')::timestamptz as at, t.cut_lines as "cutLines", t.cut_bytes as "cutBytes", null as status
  from run_log l join run_event e on e.instance_id = l.instance_id and e.seq = l.seq
  cross join lateral (
    select line, n, 0 as cut_lines, 0 as cut_bytes from jsonb_array_elements(l.lines) with ordinality as each(line, n)
    union all
    select jsonb_build_object('level', 'warn', 'message', '', 'at', e.created_at), ${CUT}, l.cut_lines, l.cut_bytes where l.cut_lines > 0
  ) t
  where l.instance_id = $1 and l.seq >= $2 and ($4::text is null or l.node_id = $4)
),
happened as (
  select seq, node_id, iteration, frame, attempt, status, exit, at,
         max(at) filter (where status = 'RUNNING') over (partition by node_id, frame order by seq) as began
  from (${nodeEvents('e.instance_id = $1')}) each
  where $4::text is null or node_id = $4
  union all
  select seq, null, 0, null, 1, status, null, created_at, null from run_event
  where instance_id = $1 and node_id is null and $4::text is null
),
told as (
  select line.seq, ${OUTCOME} as n, 'engine' as source, ${levelOf} as level, node_id as "nodeID", iteration, frame, attempt,
         case when node_id is null then 'Run ' else 'Node ' end || ${wordsOf}
           || case when status = 'FAILED' then coalesce(': ' || ${rowOf("p.payload #>> '{error,message}'")}, '') else '' end as message,
         jsonb_strip_nulls(jsonb_build_object('status', status, 'exit', exit, 'durationMs',
           case when status <> 'RUNNING' then round(extract(epoch from at - began) * 1000) end)) as data,
         at, 0 as "cutLines", 0 as "cutBytes", status
  from happened line
  where line.seq >= $2
)
select seq, n, source, level, "nodeID", iteration, frame, attempt, message, at, "cutLines", "cutBytes",
       case when status = 'SUCCESS' then data || jsonb_build_object('storedBytes', ${rowOf('pg_column_size(p.payload)')}) else data end as data
from (
  select * from (select * from printed union all select * from told) every
  where (seq, n) > ($2::bigint, $3::int) and level = any($5::text[]) and ($6::text is null or strpos(lower(message), $6) > 0)
  order by seq, n limit $7
) line
order by seq, n`;
