import { AppError, type ErrorCode } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Graph, GraphNode } from '#shared/workflow/graph/graph.ts';
import type { MapPlan } from '#shared/workflow/map-plan.ts';
import type { RunError } from '#shared/workflow/run-error.ts';
import { causedBy } from '#shared/workflow/run-error.ts';
import type { MapOutcome, WaitResult } from '../../nodes/executor.ts';
import { Results, readOutcomes } from '../state/iterations.ts';

/** Chunks that one statement reads. */
const PAGE = 20;

/** Reads the results of a map's items, in their order, from the rows of its chunks. Throws if the map has failed. */
export async function readMapResults(
  pool: Pool,
  { mapID, outcome }: Extract<WaitResult, { kind: 'chunks' }>,
  mapNode: MapNode,
): Promise<Extract<WaitResult, { kind: 'iterations' }>> {
  const { rows } = await pool.query<MapRow>({ name: 'read_map_end', text: MAP, values: [mapID] });
  const [map] = rows;
  if (!map) throw new AppError('NODE_FAILED', 'The map no longer exists', { retry: false });
  if (outcome !== 'done') throw await whyFailed(pool, { mapID, outcome, map });
  const results: Json[] = [];
  let after: number | null = map.plan.collectResults ? 0 : null;
  while (after !== null) {
    const page: { rows: ChunkRow[] } = await pool.query<ChunkRow>({
      name: 'read_map_chunks',
      text: CHUNKS,
      values: [mapID, after, PAGE],
    });
    for (const row of page.rows) for (const result of await resultsOf(pool, row, mapNode)) results.push(result);
    after = page.rows.length < PAGE ? null : (page.rows.at(-1)?.n ?? null);
  }
  return { kind: 'iterations', results, total: map.items, failed: map.failed_items };
}

/** The results of the items of a chunk. If the chunk has failed as a whole, its items that had not ended count as failed. */
async function resultsOf(pool: Pool, row: ChunkRow, { graph, node }: MapNode): Promise<Json[]> {
  if (row.status === 'COMPLETED') return row.results ?? [];
  const { id: instanceID, first, size, ended, error } = row;
  const results = new Results(graph);
  if (ended > 0)
    for await (const outcome of readOutcomes(pool, graph, { node, path: [], instanceID, after: 0 }))
      results.add(outcome);
  const { code, message } = error ?? { code: 'NODE_FAILED', message: 'The chunk has failed' };
  const failed = Array.from({ length: size - ended }, () => ({ success: false, error: { code, message } }));
  return [...results.of({ first, count: ended, failedItems: 'keep' }), ...failed];
}

async function whyFailed(
  pool: Pool,
  { mapID, outcome, map }: { mapID: string; outcome: MapOutcome; map: MapRow },
): Promise<AppError> {
  const noRetry = { retry: false } as const;
  if (outcome === 'stopped') return new AppError('NODE_FAILED', 'A part of the map was stopped', noRetry);
  if (outcome === 'large')
    return new AppError(
      'OUTPUT_TOO_LARGE',
      'The results of the map are larger together than the limit of an output (NODE_OUTPUT_MAX_BYTES): with collectResults false they are not kept',
      noRetry,
    );
  const first = await readFailure(pool, mapID, map.plan);
  // The cast is safe: the engine stores no codes but its own.
  const code = (first?.error?.code ?? 'NODE_FAILED') as ErrorCode;
  const itemMessage = first?.error?.message ?? 'its chunk has failed';
  const prefix = first?.item === null || first === undefined ? '' : `Item ${first.item}: `;
  // The error of the item. With `failsFast` the chunk fails because of it, so it is the cause of the chunk's error.
  const { cause, ...failure } = first?.error ?? {};
  const ofItem = first && {
    code,
    message: itemMessage,
    ...(map.plan.failsFast && cause ? cause : failure),
    instanceID: first.id,
  };
  const options = { ...noRetry, ...(ofItem && { details: causedBy(ofItem) }) };
  if (map.plan.failsFast) return new AppError(code, `${prefix}${itemMessage}`, options);
  const tooMany = `${map.failed_items} items have failed, more than toleratedFailures (${map.tolerated})`;
  return new AppError(
    'NODE_FAILED',
    first ? `${tooMany}. The first is item ${first.item}: ${itemMessage}` : tooMany,
    options,
  );
}

/** Reads the failure that the error of a map names: with `failsFast` that of the first failed chunk, otherwise that of the first failed item. */
async function readFailure(pool: Pool, mapID: string, { failsFast }: MapPlan): Promise<FailureRow | undefined> {
  const statement = failsFast
    ? { name: 'read_map_failure', text: FAILURE }
    : { name: 'read_map_first_failure', text: FIRST_FAILURE };
  const { rows } = await pool.query<FailureRow>({ ...statement, values: [mapID] });
  return rows[0];
}

/** The map node, and the graph of its run. */
interface MapNode {
  graph: Graph;
  node: GraphNode;
}

interface MapRow {
  items: number;
  failed_items: number;
  tolerated: number | null;
  plan: MapPlan;
}

interface ChunkRow {
  n: number;
  first: number;
  size: number;
  status: string;
  id: string;
  /** Items that have ended. */
  ended: number;
  results: Json[] | null;
  error: { code: string; message: string } | null;
}

interface FailureRow {
  id: string;
  error: Partial<RunError> | null;
  item: number | null;
}

const MAP = `
select items, failed_items, tolerated, plan from run_map where id = $1`;

const CHUNKS = `
select c.n, c.first, c.size, c.status, i.id, i.output -> 'results' as results, i.error,
  case when c.status = 'FAILED' then ended_items(i.id, c.first, c.size) else c.size end as ended
from map_chunk c join workflow_instance i on i.id = c.instance_id
where c.map_id = $1 and c.n > $2 order by c.n limit $3`;

// The first, in the order of the items, of the chunks that have failed by now.
const FAILURE = `
select i.id, i.error, (
    select (e.frame #>> '{0,iteration}')::int from run_event e
    where e.instance_id = i.id and e.status = 'FAILED' and e.node_id = i.error ->> 'nodeID' and e.frame is not null order by e.seq desc limit 1
  ) as item
from map_chunk c join workflow_instance i on i.id = c.instance_id
where c.map_id = $1 and c.status = 'FAILED' order by c.n limit 1`;

// The first failed item, in the order of the items, of chunks that have failed or have failed items. If a chunk has failed as a whole, with no
// failed item, its first item that had not ended counts as the failed one.
const FIRST_FAILURE = `
select i.id, coalesce(item.n, c.first + least(ended_items(i.id, c.first, c.size), c.size - 1)) as item,
  case when item.n is null then i.error else item.error || jsonb_build_object('nodeID', item.node_id, 'attempt', item.attempt, 'frame', item.frame) end as error
from (
  select n, first, size, instance_id from map_chunk where map_id = $1 and (failed > 0 or status = 'FAILED') order by n limit 1
) c
join workflow_instance i on i.id = c.instance_id
left join lateral (
  select (e.frame #>> '{0,iteration}')::int as n, e.node_id, e.attempt, e.frame, e.payload -> 'error' as error from run_event e
  where e.instance_id = i.id and e.status = 'FAILED' and jsonb_array_length(e.frame) = 1 and e.payload ? 'failsItem' order by 1, e.seq limit 1
) item on true`;
