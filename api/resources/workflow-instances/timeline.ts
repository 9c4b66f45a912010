import type { Pool } from '#shared/db/pool.ts';
import { eventsOf, type RunEventPayload, type Started } from '#shared/messaging/realtime/run-events.ts';
import type { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import type { NodeStatus } from '#shared/workflow/progress/status.ts';
import { holdText } from '../../http/fields/page-size.ts';

export interface TimelineRow {
  seq: number;
  nodeID: string;
  iteration: number;
  frame: IterationPath | null;
  attempt: number;
  status: NodeStatus;
  exit: string | null;
  payload: RunEventPayload | null;
  started: Started[] | null;
  isOmitted: boolean;
  at: Date;
}

interface Wanted {
  afterSeq: number;
  maxEvents: number;
  withLargeOutputs: boolean;
}

/** Bytes of the outputs of a page, as JSON text; one that is larger has a page of its own. */
const MAX_BYTES = 8 * 1024 ** 2;
/** Bytes up to which outputs are read with their events, without a reservation. */
const SMALL_BYTES = 256 * 1024;

/**
 * A page of what the nodes of a run did, with outputs of a limited size together. Memory for the outputs is reserved for the calling work
 * before they are read.
 */
export async function readTimeline(
  pool: Pool,
  instanceID: string,
  { afterSeq, maxEvents, withLargeOutputs }: Wanted,
): Promise<{ events: TimelineRow[]; nextSeq: number | null }> {
  const values = [instanceID, afterSeq, maxEvents + 1, withLargeOutputs, SMALL_BYTES, MAX_BYTES];
  const { rows } = await pool.query<TimelineRow & { bytes: number; total: number }>(TIMELINE, values);
  const { bytes = 0, total = 0 } = rows.at(-1) ?? {};
  if (total > SMALL_BYTES) await readPayloads(pool, instanceID, rows, bytes);
  const events = rows.flatMap(eventsOf).filter(({ seq }) => seq > afterSeq);
  const shown = events.slice(0, maxEvents);
  const isWhole = events.length <= maxEvents && bytes >= total;
  return { events: shown, nextSeq: isWhole ? null : (shown.at(-1)?.seq ?? null) };
}

// `large` goes by the stored size, after compression. `brief` spares Postgres to read a large output only to leave it out, or to measure it.
const TIMELINE = `
select seq, node_id as "nodeID", iteration, frame, attempt, status, exit, started, created_at as at, large as "isOmitted",
       bytes, total,
       case when large then coalesce(brief, payload - 'output') when total <= $5 then payload end as payload
from (
  select *, sum(length) over (order by seq)::float8 as bytes, sum(length) over ()::float8 as total,
         row_number() over (order by seq) as n
  from (
    select *, case when large then 0 when stored <= 2000 then stored
                   else coalesce((brief #>> '{large,length}')::int, octet_length(payload::text)) end as length
    from (
      select *, coalesce(pg_column_size(payload), 0) as stored, not $4 and coalesce(pg_column_size(payload), 0) > 16384 as large
      from run_event where instance_id = $1 and seq > $2 and node_id is not null order by seq limit $3
    ) e
  ) e
) e
where bytes <= $6 or n = 1
order by seq`;

async function readPayloads(pool: Pool, instanceID: string, rows: TimelineRow[], bytes: number): Promise<void> {
  await holdText(bytes);
  const wanted = new Map(rows.filter(({ isOmitted }) => !isOmitted).map((row) => [row.seq, row]));
  const values = [instanceID, [...wanted.keys()]];
  const { rows: found } = await pool.query<Pick<TimelineRow, 'seq' | 'payload'>>(PAYLOADS, values);
  for (const { seq, payload } of found) Object.assign(wanted.get(seq) ?? {}, { payload });
}

const PAYLOADS = 'select seq, payload from run_event where instance_id = $1 and seq = any($2::bigint[])';
