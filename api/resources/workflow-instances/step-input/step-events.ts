import type { Json } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { LargeOutput, Repeat } from '#shared/messaging/realtime/run-events.ts';
import { nodeEvents } from '#shared/runs/node-event-rows.ts';
import type { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import type { NodeStatus } from '#shared/workflow/progress/status.ts';
import type { ShownError } from '#shared/workflow/run-error.ts';

/** An attempt of a node in one iteration. */
export interface Attempt {
  frame: IterationPath;
  attempt: number;
  status: NodeStatus;
  /** The numbers of its first and its last event. */
  began: number;
  last: number;
  at: Date;
  reusedFrom: string | null;
  isPinned: boolean;
}

interface Wanted {
  nodeID: string;
  /** The iterations of its frame; undefined for those of the latest event. */
  iterations?: readonly number[] | undefined;
  attempt?: number | undefined;
}

/** The latest attempt of those that are wanted; undefined if there is none. */
export async function findAttempt(
  pool: Pool,
  instanceID: string,
  { nodeID, iterations, attempt }: Wanted,
): Promise<Attempt | undefined> {
  const path = iterations ? JSON.stringify(iterations) : null;
  const { rows } = await pool.query<Attempt>(ATTEMPT, [instanceID, nodeID, path, attempt ?? null]);
  return rows[0];
}

// The events of one iteration of a node have the same frame, because the graph says which nodes are around it.
const ATTEMPT = `
select step.*, outcome."reusedFrom", coalesce(outcome."isPinned", false) as "isPinned"
from (
  select coalesce(frame, '[]') as frame, attempt, min(seq) as began, max(seq) as last, min(at) as at,
         (array_agg(status order by seq desc))[1] as status
  from (${nodeEvents('e.instance_id = $1')}) each
  where node_id = $2 and ($3::jsonb is null or jsonb_path_query_array(coalesce(frame, '[]'), '$[*].iteration') = $3)
    and ($4::int is null or attempt = $4)
  group by 1, 2 order by max(seq) desc limit 1
) step left join lateral (
  select coalesce(e.brief, e.payload) ->> 'reusedFrom' as "reusedFrom", coalesce(e.brief, e.payload) ? 'isPinned' as "isPinned"
  from run_event e
  where e.instance_id = $1 and e.seq >= step.last and e.node_id = $2 and coalesce(e.frame, '[]') = step.frame and e.attempt = step.attempt
  order by e.seq limit 1
) outcome on true`;

/** How a node began to repeat its body. */
export interface Repetition {
  seq: number;
  repeat: Repeat;
}

/** The last repetition of a node in its frame before an event. */
export async function findRepetition(
  pool: Pool,
  instanceID: string,
  { nodeID, frame, before }: { nodeID: string; frame: IterationPath; before: number },
): Promise<Repetition | undefined> {
  const { rows } = await pool.query<Repetition>(REPETITION, [instanceID, nodeID, JSON.stringify(frame), before]);
  return rows[0];
}

const own = '(e.seq - coalesce(jsonb_array_length(e.started), 0))';

const REPETITION = `
select ${own} as seq, payload -> 'repeat' as repeat
from run_event e
where instance_id = $1 and node_id = $2 and coalesce(frame, '[]') = $3::jsonb and ${own} < $4 and status = 'SUSPENDED' and payload ? 'repeat'
order by e.seq desc limit 1`;

export interface Item {
  /** Null also if it is left out because of its length. */
  value: Json;
  /** The length of its JSON text. */
  length: number;
  isHere: boolean;
}

/** An item of a repetition, from the event that has the list. */
export async function readItem(
  pool: Pool,
  instanceID: string,
  { seq, index, maxLength }: { seq: number; index: number; maxLength: number },
): Promise<Item | undefined> {
  const { rows } = await pool.query<Item>(ITEM, [instanceID, seq, index, maxLength]);
  return rows[0];
}

const ITEM = `
select case when length <= $4 then value end as value, length, length <= $4 as "isHere"
from (
  select value, octet_length(value::text) as length
  from run_event e cross join lateral (select e.payload #> array['output', 'items', $3::int::text] as value) item
  where instance_id = $1 and e.seq >= $2 and ${own} = $2 and value is not null order by e.seq limit 1
) item`;

/** An item of a chunk of a map, by its index in the whole list. */
export async function readChunkItem(
  pool: Pool,
  instanceID: string,
  { index, maxLength }: { index: number; maxLength: number },
): Promise<(Item & { first: number }) | undefined> {
  const { rows } = await pool.query<Item & { first: number }>(CHUNK_ITEM, [instanceID, index, maxLength]);
  return rows[0];
}

const CHUNK_ITEM = `
select first, case when length <= $3 then value end as value, length, length <= $3 as "isHere"
from (
  select first, value, octet_length(value::text) as length
  from map_chunk c cross join lateral (select c.items -> ($2::int - c.first) as value) item
  where instance_id = $1 and value is not null
) item`;

export interface Given extends Item {
  key: string;
}

/**
 * The part of the `ctx` around a map that it passes on to its chunks. If it is too long, the longest values are left
 * out.
 */
export async function readMapScope(pool: Pool, mapID: string, maxLength: number): Promise<Given[]> {
  const { rows } = await pool.query<Given>(MAP_SCOPE, [mapID, maxLength]);
  return rows;
}

const MAP_SCOPE = `
select key, case when sum <= $2 then value end as value, length, sum <= $2 as "isHere"
from (
  select key, value, length, sum(length) over (order by length, key)
  from (select key, value, octet_length(value::text) as length from run_map cross join lateral jsonb_each(scope) where id = $1) each
) given`;

/** The beginning of an iteration among the events: the last event of the iteration before it, and its own first event. */
export async function findRange(
  pool: Pool,
  instanceID: string,
  path: IterationPath,
): Promise<{ before: number | null; began: number | null }> {
  const previous = path.with(-1, { ...innermostOf(path), iteration: innermostOf(path).iteration - 1 });
  const values = [instanceID, JSON.stringify(path), JSON.stringify(previous), `$[0 to ${path.length - 1}]`];
  const { rows } = await pool.query<{ before: number | null; began: number | null }>(RANGE, values);
  return rows[0] ?? { before: null, began: null };
}

function innermostOf(path: IterationPath) {
  const iteration = path.at(-1);
  if (!iteration) throw new Error('Outside of bodies no iteration begins');
  return iteration;
}

const RANGE = `
select max(seq) filter (where around = $3::jsonb) as before, min(seq) filter (where around = $2::jsonb) as began
from (select seq, jsonb_path_query_array(frame, $4::jsonpath) as around from (${nodeEvents('e.instance_id = $1')}) event) event`;

/** A part of the `ctx` of a step: the outputs of one frame, up to an event. */
export interface Layer {
  frame: IterationPath;
  until: number;
}

export interface OutputRow {
  seq: number;
  nodeID: string;
  /** The index of its layer among the layers. */
  layer: number;
  /** The length of its JSON text. */
  length: number;
  /** Null if it is large, or left out. */
  output: Json;
  large: LargeOutput | null;
}

/**
 * The outputs of these nodes in these frames. Large outputs are not read; of the other outputs the latest are, up to a
 * total length.
 */
export async function findOutputs(
  pool: Pool,
  instanceID: string,
  { layers, nodeIDs, maxLength }: { layers: readonly Layer[]; nodeIDs: readonly string[]; maxLength: number },
): Promise<OutputRow[]> {
  const frames = layers.map(({ frame }) => JSON.stringify(frame));
  const untils = layers.map(({ until }) => until);
  const { rows } = await pool.query<OutputRow>(OUTPUTS, [instanceID, frames, untils, nodeIDs, maxLength]);
  return rows;
}

// Only these events have left a node; a failed attempt that is repeated has no exit.
const OUTPUTS = `
select seq, "nodeID", layer, coalesce((large ->> 'length')::int, length) as length, large,
       case when large is null and sum(length) over (order by seq desc) <= $5 then payload -> 'output' end as output
from (
  select ${own} as seq, e.node_id as "nodeID", layer.n::int - 1 as layer, brief -> 'large' as large, payload,
         case when brief is null then octet_length((payload -> 'output')::text) else 0 end as length
  from unnest($2::jsonb[], $3::bigint[]) with ordinality as layer(frame, until, n)
  join run_event e on e.instance_id = $1 and coalesce(e.frame, '[]') = layer.frame and ${own} <= layer.until
  where e.node_id = any($4::text[]) and (e.status = 'SUCCESS' or e.status in ('FAILED', 'SKIPPED') and e.exit is not null)
    and payload ? 'output'
) event
order by layer, seq`;

/** A failure of a node after which the run went on. */
export interface PassedRow {
  seq: number;
  nodeID: string;
  frame: IterationPath;
  attempt: number;
  error: ShownError;
}

interface FailedIn extends Layer {
  nodeIDs: ReadonlySet<string>;
}

/** The latest failure of these nodes in a frame, up to an event, that the run went on after. */
export async function findPassed(
  pool: Pool,
  instanceID: string,
  { frame, until, nodeIDs }: FailedIn,
): Promise<PassedRow | undefined> {
  const { rows } = await pool.query<PassedRow>(PASSED, [instanceID, JSON.stringify(frame), until, [...nodeIDs]]);
  return rows[0];
}

const PASSED = `
select ${own} as seq, e.node_id as "nodeID", coalesce(e.frame, '[]') as frame, e.attempt, e.payload -> 'error' as error
from run_event e
where e.instance_id = $1 and coalesce(e.frame, '[]') = $2::jsonb and ${own} <= $3 and e.node_id = any($4::text[])
  and e.status = 'FAILED' and e.exit is not null and e.payload ? 'error'
order by e.seq desc limit 1`;

/** The output of a node, from its row. */
export async function readValue(
  pool: Pool,
  instanceID: string,
  { seq, name }: { seq: number; name: string },
): Promise<Json> {
  const { rows } = await pool.query<{ value: Json }>(VALUE, [instanceID, seq, name]);
  return rows[0]?.value ?? null;
}

const VALUE = `
select payload -> 'output' -> $3::text as value from run_event e where instance_id = $1 and e.seq >= $2 and ${own} = $2 order by e.seq limit 1`;
