import { createBatcher } from '#shared/concurrency/batcher.ts';
import { isRefusedStatement, type Pool } from '#shared/db/pool.ts';
import type { RunEventPayload, Started } from '#shared/messaging/realtime/run-events.ts';
import type { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import { type Checkpoint, READ_VERSIONS } from '../state/checkpoint.ts';

/** The history of a run that a restore reads: its last checkpoint and its events. Its waits are read elsewhere. */
export interface Past {
  /** Null if the run has no checkpoint, or one of a version that this engine does not know. */
  checkpoint: Checkpoint | null;
  /** The number of the checkpoint; 0 without one. */
  seq: number;
  /** In order of `seq`: events after the checkpoint, and before it those whose outputs it refers to. */
  events: EventRow[];
}

export interface EventRow {
  seq: number;
  node_id: string;
  frame: IterationPath | null;
  attempt: number;
  status: string;
  exit: string | null;
  payload: RunEventPayload | null;
  started: Started[] | null;
}

type ReadPast = (run: { id: string; seq: number }) => Promise<Past>;

/** Runs with more events, or a payload of more bytes, are read by a statement of their own: the other runs of a batch would wait for them. */
const BATCHED = { seq: 50, bytes: 4000 };

/** Reads the history of runs. Short ones that are asked for at once share a statement, as when thousands of delays end in the same moment. */
export function createReadPast(pool: Pool): ReadPast {
  const readBatched = createBatcher((ids: string[]) => read(pool, ids, BATCHED.bytes), isRefusedStatement);

  async function readSingle(id: string): Promise<Past> {
    const [past = null] = await read(pool, [id], MAX_BYTES);
    return past ?? { checkpoint: null, seq: 0, events: [] };
  }

  return async ({ id, seq }) => (seq <= BATCHED.seq ? await readBatched(id) : null) ?? readSingle(id);
}

/** No limit of the size of payloads. */
const MAX_BYTES = 2 ** 31 - 1;

/** Reads the history of several runs; null for a run that has a payload above the limit. */
async function read(pool: Pool, ids: readonly string[], maxBytes: number): Promise<(Past | null)[]> {
  const values = [ids, READ_VERSIONS.map(String), maxBytes];
  const { rows } = await pool.query<Row>({ name: 'read_events', text: PAST, values });
  const byRun = Map.groupBy(rows, ({ instance_id }) => instance_id);
  return ids.map((id) => toPast(byRun.get(id) ?? []));
}

/** Splits the rows of one run into its checkpoint and its events. Null if the statement left out a payload above the limit. */
function toPast(rows: readonly Row[]): Past | null {
  const past: Past = { checkpoint: null, seq: 0, events: [] };
  for (const row of rows) {
    if (row.is_large) return null;
    if (row.node_id === null) {
      past.checkpoint = row.payload;
      past.seq = row.seq;
    } else past.events.push(row);
  }
  return past;
}

type Row = { instance_id: string; is_large: boolean } & (
  | EventRow
  | { node_id: null; seq: number; payload: Checkpoint }
);

// The row without a node is the checkpoint. Events with a large output have its description (`brief`) instead.
// The select around the ids hides their number, so that the planner keeps one plan.
const PAST = `
with past as (
  select r.id, coalesce(c.seq, 0) as seq, c.state
  from unnest((select $1::uuid[])) as r(id) left join run_checkpoint c on c.instance_id = r.id and c.state ->> 'version' = any($2::text[])
),
event as (
  select e.*, coalesce(brief, payload) as shown from past join run_event e on e.instance_id = past.id and e.seq > past.seq and e.node_id is not null
  union all
  select e.*, coalesce(brief, payload) from past cross join lateral jsonb_array_elements(past.state -> 'outputs') as output(seq)
  join run_event e on e.instance_id = past.id and e.seq = output.seq::bigint
)
select id as instance_id, seq, null as node_id, null as frame, null as attempt, null as status, null as exit, state as payload,
       null as started, false as is_large
from past where state is not null
union all
select instance_id, seq, node_id, frame, attempt, status, exit, case when pg_column_size(shown) <= $3 then shown end, started,
       coalesce(pg_column_size(shown) > $3, false)
from event
order by seq`;
