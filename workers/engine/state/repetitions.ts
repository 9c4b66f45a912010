import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Repeat } from '#shared/messaging/realtime/run-events.ts';
import { type IterationPath, pathKey } from '#shared/workflow/progress/activation.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { ShownError } from '#shared/workflow/run-error.ts';
import type { Source } from './source.ts';

/** Why an item has failed: the first of its activations, in the order of the graph, whose failure its body does not handle. */
export interface ItemFailure extends ShownError {
  place: number;
  /** Absent in checkpoints of earlier versions. */
  nodeID?: string;
  frame?: IterationPath;
}

/** The items for which an activation repeats its body, one after the other. */
export interface Repetition {
  readonly repeat: Repeat;
  readonly items: readonly Json[];
  /** The iteration of the first of them: not 0 in a chunk of a map. */
  readonly first: number;
  /** The event with the items. */
  readonly source: Source;
  /** `open`: an iteration runs. `between`: the next begins later. `over`: there is none. `failed`: nor will there be one. */
  phase: 'open' | 'between' | 'over' | 'failed';
  /** The iteration that runs, or comes next. */
  at: number;
  failure: ItemFailure | null;
  /** How many items have failed. */
  failures: number;
}

/** A repetition as JSON. Its items stand in the row of its event. */
export type RepetitionSnapshot = Pick<Repetition, 'phase' | 'at' | 'failure'> & {
  nodeID: string;
  path: string;
  seq: number;
  /** Absent: none. */
  failures?: number;
};

/** A repetition for a checkpoint. */
export function snapshotOf([{ node, path }, { phase, at, failure, failures, source }]: [
  Activation,
  Repetition,
]): RepetitionSnapshot {
  const key = { nodeID: node.id, path: pathKey(path) };
  return { ...key, phase, at, failure, seq: source.seq, ...(failures > 0 && { failures }) };
}

/** The values that an iteration has in its `ctx` beside those around it. */
export function valuesOf({ repeat, items, first }: Repetition, iteration: number): JsonObject {
  return { [repeat.itemVariable]: items[iteration - first] ?? null, [repeat.indexVariable]: iteration };
}

/** Takes note that the open iteration has ended. Returns whether the next one begins at once. */
export function endIteration(repetition: Repetition): boolean {
  const { repeat, items, first, failure } = repetition;
  if (failure) repetition.failures += 1;
  if (
    failure &&
    (repeat.failedItems === 'fail' || repetition.failures > (repeat.tolerated ?? Number.POSITIVE_INFINITY))
  ) {
    repetition.phase = 'failed';
    return false;
  }
  repetition.failure = null;
  repetition.at += 1;
  if (repetition.at >= first + items.length) repetition.phase = 'over';
  else repetition.phase = 'between';
  return repetition.phase === 'between' && repeat.delayMs === 0;
}

export function addFailure(repetition: Repetition, { node, path }: Activation, error: ShownError): void {
  const { failure } = repetition;
  if (!failure || node.position < failure.place)
    repetition.failure = { ...error, place: node.position, nodeID: node.id, frame: path };
}
