import { AppError, type ErrorCode } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Repeat } from '#shared/messaging/realtime/run-events.ts';
import type { Graph } from '#shared/workflow/graph/graph.ts';
import { type IterationPath, innermost } from '#shared/workflow/progress/activation.ts';
import { type Activation, isLast } from '#shared/workflow/progress/progress.ts';
import { resultOf } from '#shared/workflow/resolve-arguments.ts';
import { causedBy } from '#shared/workflow/run-error.ts';
import type { WaitResult } from '../../nodes/executor.ts';
import type { ItemFailure, Repetition } from './repetitions.ts';
import type { Run } from './run.ts';

/** The outcome of a node of the body, as its row has it. */
export interface BodyRow {
  seq: number;
  node_id: string;
  frame: IterationPath;
  status: string;
  exit: string | null;
  output: JsonObject | null;
  error: { code: string; message: string } | null;
  /** Whether the item has failed there. */
  fails_item: boolean;
}

/** Rows that are read at once. */
const PAGE = 2000;

/**
 * Reads the results of an activation's iterations, after the last of them: they are not kept in memory, where each restore would have to put
 * them again. Throws if the failure of an item fails the activation.
 */
export async function readIterations(
  pool: Pool,
  run: Run,
  activation: Activation,
): Promise<Extract<WaitResult, { kind: 'iterations' }>> {
  const repetition = run.state.repetitionOf(activation);
  if (!repetition) throw new Error(`Node ${activation.node.id} repeats nothing`);
  const { failure, source } = repetition;
  if (repetition.phase === 'failed' && failure) throw failedItem(failure);

  const { graph } = run.version;
  const results = new Results(graph);
  if (repetition.items.length > 0)
    for await (const row of readOutcomes(pool, graph, { ...activation, instanceID: run.id, after: source.seq }))
      results.add(row);
  return results.waitResult(repetition);
}

interface Body extends Pick<Activation, 'node' | 'path'> {
  instanceID: string;
  after: number;
}

/** The outcomes in the iterations of an activation, from the rows of a run after this one. */
export async function* readOutcomes(
  pool: Pool,
  graph: Graph,
  { node, path, instanceID, after: first }: Body,
): AsyncGenerator<BodyRow> {
  const nodes = (graph.regions[node.body ?? -1]?.nodes ?? []).map((index) => graph.nodes[index]?.id);
  const own = [instanceID, nodes, path.length + 1, JSON.stringify(path)];
  let after: number | null = first;
  while (after !== null) {
    const { rows }: { rows: BodyRow[] } = await pool.query<BodyRow>({
      name: 'read_iterations',
      text: OUTCOMES,
      values: [...own, after, PAGE],
    });
    yield* rows;
    after = rows.length < PAGE ? null : (rows.at(-1)?.seq ?? null);
  }
}

function failedItem({ place: _, ...failure }: ItemFailure): AppError {
  // The engine writes only codes of its own.
  return new AppError(failure.code as ErrorCode, failure.message, { retry: false, details: causedBy(failure) });
}

/** Puts together what each item gave, from the outcomes in its iteration in any order. */
export class Results {
  readonly #graph: Graph;
  readonly #values = new Map<number, { position: number; value: Json }>();
  readonly #errors = new Map<number, { place: number; error: JsonObject }>();

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  /**
   * Where several branches have ended, the last of their nodes in the order of the graph counts: their order in time differs between
   * two executions.
   */
  add({ node_id, frame, exit, output, error, fails_item: failsItem }: BodyRow): void {
    const node = this.#graph.nodes[this.#graph.indexOf.get(node_id) ?? -1];
    if (!node) return;
    const iteration = innermost(frame);
    const { position } = node;
    if (failsItem && error) {
      const known = this.#errors.get(iteration);
      // As in `ctx`: the event of the node has the details.
      const { code = null, message = null } = error;
      if (!known || position < known.place) this.#errors.set(iteration, { place: position, error: { code, message } });
    } else if (isLast(this.#graph, node, exit)) {
      const known = this.#values.get(iteration);
      if (!known || position > known.position)
        this.#values.set(iteration, { position: position, value: resultOf(node, output) });
    }
  }

  /** The results in the order of the items. */
  waitResult({
    items,
    first,
    repeat,
  }: Pick<Repetition, 'items' | 'first' | 'repeat'>): Extract<WaitResult, { kind: 'iterations' }> {
    const isEmpty = this.#values.size + this.#errors.size === 0;
    const results = isEmpty ? [] : this.of({ first, count: items.length, failedItems: repeat.failedItems });
    return { kind: 'iterations', results, total: items.length, failed: this.#errors.size };
  }

  /** Those of so many items, in their order. */
  of({ first, count, failedItems }: { first: number; count: number; failedItems: Repeat['failedItems'] }): Json[] {
    const results: Json[] = [];
    for (let iteration = first; iteration < first + count; iteration += 1) {
      const failed = this.#errors.get(iteration);
      if (!failed) results.push(this.#values.get(iteration)?.value ?? null);
      else if (failedItems === 'keep') results.push({ success: false, error: failed.error });
    }
    return results;
  }
}

// An attempt that is repeated left by no exit and failed no item.
const OUTCOMES = `
select seq, node_id, frame, status, exit, payload -> 'output' as output, payload -> 'error' as error,
       coalesce((payload -> 'failsItem')::boolean, false) as fails_item
from run_event
where instance_id = $1 and seq > $5 and node_id = any($2::text[]) and jsonb_array_length(frame) = $3 and frame - (-1) = $4::jsonb
  and (status in ('SUCCESS', 'SKIPPED') or status = 'FAILED' and (exit is not null or payload ? 'failsItem'))
order by seq limit $6`;
