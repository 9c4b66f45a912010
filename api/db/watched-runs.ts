import type { Pool } from '#shared/db/pool.ts';
import type { RunEventRow } from '#shared/realtime/events.ts';

/** Events of a run after `after`, oldest first. */
export async function readRunEvents(
  pool: Pool,
  instanceID: string,
  { after, maxRows }: { after: number; maxRows: number },
): Promise<RunEventRow[]> {
  const { rows } = await pool.query<RunEventRow>(READ, [instanceID, after, maxRows]);
  return rows;
}

/** Marks the run as watched: the worker publishes from the next commit on. Answers whether the run is still going. */
export async function beginWatching(pool: Pool, instanceID: string): Promise<boolean> {
  const { rowCount } = await pool.query(BEGIN, [instanceID]);
  return rowCount === 1;
}

/** Marks these runs as watched for another minute. Answers with the marked ones; rows that a commit holds are left for the next time. */
export async function keepWatching(pool: Pool, ids: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(KEEP, [ids]);
  return rows.map(({ id }) => id);
}

export interface MovedRun {
  id: string;
  seq: number;
  /** The run is terminal, or its row is gone. */
  isOver: boolean;
}

/** Finds, in one query, the runs that have ended or have events after their known `head`. */
export async function findMoved(pool: Pool, ids: readonly string[], heads: readonly number[]): Promise<MovedRun[]> {
  const { rows } = await pool.query<MovedRun>(MOVED, [ids, heads]);
  return rows;
}

export const READ = `
select e.instance_id as "instanceID", e.seq, e.node_id as "nodeID", e.iteration, e.frame, e.attempt, e.status, e.exit,
       e.created_at as at, e.payload, e.started,
       case when l.seq is not null
         then jsonb_build_object('lines', l.lines, 'cut', jsonb_build_object('lines', l.cut_lines, 'bytes', l.cut_bytes)) end as log
from run_event e left join run_log l on l.instance_id = e.instance_id and l.seq = e.seq
where e.instance_id = $1 and e.seq > $2 order by e.seq limit $3`;

const BEGIN = `
update workflow_instance set watched_until = now() + interval '60 seconds' where id = $1 and completed_at is null`;

// Locked in order and never waited for: neither two gateways nor a gateway and a commit can block each other.
const KEEP = `
with free as (
  select id from workflow_instance where id = any($1::uuid[]) and completed_at is null order by id for no key update skip locked
)
update workflow_instance i set watched_until = now() + interval '60 seconds' from free where i.id = free.id returning i.id`;

const MOVED = `
select w.id, coalesce(i.seq, 0) as seq, i.id is null or i.completed_at is not null as "isOver"
from unnest($1::uuid[], $2::bigint[]) as w(id, head) left join workflow_instance i on i.id = w.id
where i.id is null or i.completed_at is not null or i.seq > w.head`;
