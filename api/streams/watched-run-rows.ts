import type { Pool } from '#shared/db/pool.ts';
import type { RunEventRow } from '#shared/messaging/realtime/run-events.ts';

/** Events of a run, oldest first. */
export interface EventPage {
  rows: RunEventRow[];
  /** Whether more events follow. */
  hasMore: boolean;
}

/** The most that a page has, unless a single event is larger. A page stays in memory until a slow client has accepted it. */
export const PAGE = { rows: 500, bytes: 256 * 1024 };
/**
 * Bytes of an output as text. Far above the size that is sent to clients, so an output that is left out here would not
 * be sent anyway.
 */
const MAX_OUTPUT_BYTES = 128 * 1024;

export async function readRunEvents(
  pool: Pool,
  instanceID: string,
  { after, page = PAGE }: { after: number; page?: typeof PAGE },
): Promise<EventPage> {
  const values = [instanceID, after, page.rows + 1, page.bytes, MAX_OUTPUT_BYTES];
  const { rows: found } = await pool.query<RunEventRow & { isBeyond: boolean }>(READ, values);
  const end = found.findIndex(({ isBeyond }, at) => isBeyond || at === page.rows);
  const rows = (end < 0 ? found : found.slice(0, end)).map(({ isBeyond: _, ...row }) => row);
  return { rows, hasMore: end >= 0 };
}

/**
 * Marks the run as watched: from the next commit on, the worker publishes its events. Returns whether the run is still
 * going.
 */
export async function beginWatching(pool: Pool, instanceID: string): Promise<boolean> {
  const { rowCount } = await pool.query(BEGIN, [instanceID]);
  return rowCount === 1;
}

/**
 * Marks these runs as watched for another minute. Returns the marked ones; rows that a commit has locked are skipped
 * until the next time.
 */
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

// An event beyond the limit is returned without its contents, only to show that there are more. Only an event that may
// be within the limit is serialized: the stored size is known without reading the value.
export const READ = `
select "instanceID", seq, "nodeID", iteration, frame, attempt, status, exit, at, started, is_beyond as "isBeyond",
  case when not is_beyond then payload end as payload, case when not is_beyond then log end as log
from (
  select *, before > 0 and before + size > $4 as is_beyond
  from (
    select *, sum(size) over (order by seq) - size as before
    from (
      select *, case when stored_before > $4 then $4 else coalesce(octet_length(payload::text), 0) + coalesce(octet_length(log::text), 0) end as size
      from (
        select "instanceID", seq, "nodeID", iteration, frame, attempt, status, exit, at, started, log, stored_before,
               case when stored_before > $4 then null
                 when is_brief then payload || '{"outputOmitted": true}'
                 when octet_length((payload -> 'output')::text) > $5 then (payload - 'output') || '{"outputOmitted": true}' else payload end as payload
        from (
          select e.instance_id as "instanceID", e.seq, e.node_id as "nodeID", e.iteration, e.frame, e.attempt, e.status, e.exit,
                 e.created_at as at, e.started, coalesce(e.brief, e.payload) as payload, e.brief is not null as is_brief,
                 sum(coalesce(pg_column_size(coalesce(e.brief, e.payload)), 0)) over (order by e.seq)
                   - coalesce(pg_column_size(coalesce(e.brief, e.payload)), 0) as stored_before,
                 case when l.seq is not null
                   then jsonb_build_object('lines', l.lines, 'cut', jsonb_build_object('lines', l.cut_lines, 'bytes', l.cut_bytes)) end as log
          from run_event e left join run_log l on l.instance_id = e.instance_id and l.seq = e.seq
          where e.instance_id = $1 and e.seq > $2 order by e.seq limit $3
        ) event
      ) shown
    ) sized
  ) summed
) page
order by seq`;

const BEGIN = `
update workflow_instance set watched_until = now() + interval '60 seconds' where id = $1 and completed_at is null`;

// Locks rows in order and skips locked ones, so that neither two gateways nor a gateway and a commit can block each other.
const KEEP = `
with free as (
  select id from workflow_instance where id = any($1::uuid[]) and completed_at is null order by id for no key update skip locked
)
update workflow_instance i set watched_until = now() + interval '60 seconds' from free where i.id = free.id returning i.id`;

const MOVED = `
select w.id, coalesce(i.seq, 0) as seq, i.id is null or i.completed_at is not null as "isOver"
from unnest($1::uuid[], $2::bigint[]) as w(id, head) left join workflow_instance i on i.id = w.id
where i.id is null or i.completed_at is not null or i.seq > w.head`;
