import { AppError, type ErrorCode } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Repeat } from '#shared/messaging/realtime/run-events.ts';
import type { Graph } from '#shared/workflow/graph/graph.ts';
import { type IterationPath, innermost } from '#shared/workflow/progress/iteration-path.ts';
import { type Activation, isLast } from '#shared/workflow/progress/progress.ts';
import { resultOf } from '#shared/workflow/resolve-config.ts';
import { causedBy } from '#shared/workflow/run-error.ts';
import type { WaitResult } from '../../nodes/executor.ts';
import type { ItemFailure, Repetition } from './repetitions.ts';
import type { Run } from './run.ts';

/** The outcome of a node in a repeated body: a row of `run_event`. */
export interface BodyRow {
  seq: number;
  node_id: string;
  frame: IterationPath;
  status: string;
  exit: string | null;
  output: JsonObject | null;
  error: { code: string; message: string } | null;
  /** Whether this outcome has failed the item of its iteration. */
  fails_item: boolean;
}

/** Rows that one statement reads. */
const PAGE = 2000;

/**
 * Reads the results of an activation's iterations from the events, once the last iteration has ended. They are not collected in memory,
 * because each restore would have to read them again. Throws if a failed item fails the activation.
 */
export async function readIterations(
  pool: Pool,
  run: Run,
  activation: Activation,
): Promise<Extract<WaitResult, { kind: 'iterations' }>> {
  const repetition = run.state.repetitionOf(activation);
  if (!repetition) throw new Error(`Node ${activation.node.id} repeats nothing`);
  const { failure, source } = repetition;
  if (repetition.phase === 'failed' && failure) throw errorOfFailedItem(failure);

  const { graph } = run.version;
  const results = new Results(graph);
  if (repetition.items.length > 0)
    for await (const row of readOutcomes(pool, graph, { ...activation, instanceID: run.id, after: source.seq }))
      results.add(row);
  return results.waitResult(repetition);
}

interface Body extends Pick<Activation, 'node' | 'path'> {
  instanceID: string;
  /** Only events with a higher `seq` are read. */
  after: number;
}

/** Reads the outcomes of the nodes in an activation's iterations from the events of a run. */
export async function* readOutcomes(
  pool: Pool,
  graph: Graph,
  { node, path, instanceID, after: first }: Body,
): AsyncGenerator<BodyRow> {
  const nodes = (graph.regions[node.body ?? -1]?.nodes ?? []).map((index) => graph.nodes[index]?.id);
  const fixedValues = [instanceID, nodes, path.length + 1, JSON.stringify(path)];
  let after: number | null = first;
  while (after !== null) {
    const { rows }: { rows: BodyRow[] } = await pool.query<BodyRow>({
      name: 'read_iterations',
      text: OUTCOMES,
      values: [...fixedValues, after, PAGE],
    });
    yield* rows;
    after = rows.length < PAGE ? null : (rows.at(-1)?.seq ?? null);
  }
}

function errorOfFailedItem({ place: _, ...failure }: ItemFailure): AppError {
  // The cast is safe: the engine stores no codes but its own.
  return new AppError(failure.code as ErrorCode, failure.message, { retry: false, details: causedBy(failure) });
}

/** Finds the result of each item from the outcomes of the nodes in its iteration, which may be added in any order. */
export class Results {
  readonly #graph: Graph;
  readonly #values = new Map<number, { position: number; value: Json }>();
  readonly #errors = new Map<number, { place: number; error: JsonObject }>();

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  /**
   * Adds the outcome of a node. If several branches of an iteration end, the last of their nodes in the order of the graph gives the result,
   * and the first failed node the error: the order in time would differ between two executions.
   */
  add({ node_id, frame, exit, output, error, fails_item: failsItem }: BodyRow): void {
    const node = this.#graph.nodes[this.#graph.indexOf.get(node_id) ?? -1];
    if (!node) return;
    const iteration = innermost(frame);
    const { position } = node;
    if (failsItem && error) {
      const known = this.#errors.get(iteration);
      // Without details, as in the output of a failed node: the event of the node has them.
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

  /** The results of `count` items from the index `first` on. A failed item is left out, or, with `keep`, represented by its error. */
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

// Leaves out failed attempts that were retried: they have no exit and no `failsItem`.
const OUTCOMES = `
select seq, node_id, frame, status, exit, payload -> 'output' as output, payload -> 'error' as error,
       coalesce((payload -> 'failsItem')::boolean, false) as fails_item
from run_event
where instance_id = $1 and seq > $5 and node_id = any($2::text[]) and jsonb_array_length(frame) = $3 and frame - (-1) = $4::jsonb
  and (status in ('SUCCESS', 'SKIPPED') or status = 'FAILED' and (exit is not null or payload ? 'failsItem'))
order by seq limit $6`;
