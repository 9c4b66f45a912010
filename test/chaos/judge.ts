import type { Pool } from '#shared/db/pool.ts';
import { COUNTERS, expected, type PlannedRun, type Program } from './program.ts';

/** A run that the API has acknowledged. */
export interface Acknowledged {
  id: string;
  run: PlannedRun;
}

/** Runs that have not ended, with what the database knows of each. */
export async function openRuns(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select format('%s %s: epoch %s, seq %s, losses %s, hand-backs %s, ready %s, handed over %s, wakes at %s, held by %s, parent %s',
       i.id, i.status, i.epoch, i.seq, i.losses, i.hand_backs, i.ready_at, i.dispatched_at, i.wake_at,
       case when i.held_by is null then 'none' when s.ended_at is null and s.expires_at > now() then 'a live lease' else 'a dead lease' end,
       i.parent_id) as line
     from workflow_instance i left join worker_session s on s.id = i.held_by
     where i.completed_at is null order by i.id`,
  );
  return rows.map(({ line }) => line);
}

/** Compares the end state with what the program says. Answers the differences, in words. */
export async function judge(
  pool: Pool,
  {
    program,
    acknowledged,
    counters,
  }: { program: Program; acknowledged: readonly Acknowledged[]; counters: readonly number[] },
): Promise<string[]> {
  const differences: string[] = [];
  const { rows } = await pool.query<{
    id: string;
    parent_id: string | null;
    map_id: string | null;
    status: string;
    output: { value?: unknown } | null;
    error: unknown;
  }>('select id, parent_id, map_id, status, output, error from workflow_instance');
  const byID = new Map(rows.map((row) => [row.id, row]));
  const wanted = Array.from({ length: COUNTERS }, () => 0);
  let children = 0;
  for (const { id, run } of acknowledged) {
    const { added, value, children: own } = expected(program.shapes, run);
    for (const [counter, amount] of added.entries()) wanted[counter] = (wanted[counter] ?? 0) + amount;
    children += own;
    const row = byID.get(id);
    if (!row) differences.push(`run ${id} was acknowledged and is not there`);
    else if (row.status !== 'COMPLETED') differences.push(`run ${id} is ${row.status}: ${JSON.stringify(row.error)}`);
    else if (row.output?.value !== value)
      differences.push(`run ${id} answered ${JSON.stringify(row.output)}, not ${value}`);
  }
  if (new Set(acknowledged.map(({ id }) => id)).size !== acknowledged.length)
    differences.push('two requests got one run');
  compare('runs', rows.filter(({ parent_id }) => parent_id === null).length, acknowledged.length);
  compare('children', rows.filter(({ parent_id, map_id }) => parent_id !== null && map_id === null).length, children);
  for (const [index, value] of counters.entries()) compare(`counter ${index}`, value, wanted[index] ?? 0);
  for (const { what, n } of (await pool.query<{ what: string; n: number }>(LEFT)).rows) compare(what, n, 0);
  return differences;

  function compare(what: string, found: number, right: number): void {
    if (found !== right) differences.push(`${what}: ${found} instead of ${right}`);
  }
}

const LEFT = `
select 'nodes with two outcomes' as what, count(*) as n from (
  select from run_event where status = 'SUCCESS' group by instance_id, node_id, frame having count(*) > 1) twice
union all select 'outcomes without their log, or logs without an outcome', count(*) from (
  select from run_event e full join run_log l using (instance_id, seq)
  where (l.seq is null) <> (e.payload -> 'log' is null) or e.seq is null
    or e.node_id like 'compute%' and e.status = 'SUCCESS' and coalesce(jsonb_array_length(l.lines), 0) <> 1) apart
union all select 'waits left', count(*) from run_wait
union all select 'questions left', count(*) from collection_request where status <> 'COMPLETED'
union all select 'checkpoints left', count(*) from run_checkpoint
union all select 'chunks not counted', count(*) from map_chunk where due is not null
union all select 'maps not over', count(*) from run_map where outcome is distinct from 'done'
union all select 'runs held', count(*) from workflow_instance where held_by is not null
union all select 'runs ready', count(*) from workflow_instance where ready_at is not null`;
