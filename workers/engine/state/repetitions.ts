import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Repeat } from '#shared/messaging/realtime/run-events.ts';
import { type IterationPath, pathKey } from '#shared/workflow/progress/iteration-path.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { ShownError } from '#shared/workflow/run-error.ts';
import type { Source } from './source.ts';

/** The failure of an item: that of the activation whose failure nothing in the body handles. Of several, the first in the order of the graph. */
export interface ItemFailure extends ShownError {
  /** The position of the failed node in its body. */
  place: number;
  /** Absent in checkpoints of earlier versions. */
  nodeID?: string;
  frame?: IterationPath;
}

/** The items for which an activation repeats its body, one after the other. */
export interface Repetition {
  readonly repeat: Repeat;
  readonly items: readonly Json[];
  /** The iteration of the first item: 0, or in a chunk of a map the index of its first item in the map. */
  readonly first: number;
  /** The output with the items, and its event. */
  readonly source: Source;
  /** `open`: an iteration runs. `between`: the next has not begun. `over`: the last has ended. `failed`: too many failed, and no other begins. */
  phase: 'open' | 'between' | 'over' | 'failed';
  /** The iteration that runs, or comes next. */
  at: number;
  /** The failure of the item of the open iteration, or, in the phase `failed`, of the last one. */
  failure: ItemFailure | null;
  /** How many items have failed. */
  failures: number;
}

/** A repetition as JSON, without its items: they are in the event `seq`. */
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

/** The values that an iteration adds to the `ctx` around its node: the item and its index. */
export function valuesOf({ repeat, items, first }: Repetition, iteration: number): JsonObject {
  return { [repeat.itemVariable]: items[iteration - first] ?? null, [repeat.indexVariable]: iteration };
}

/** Records that the open iteration has ended. Returns whether the next one begins at once. */
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

/** Records the failure of a node for the item of the open iteration, unless a node earlier in the graph has failed too. */
export function addFailure(repetition: Repetition, { node, path }: Activation, error: ShownError): void {
  const { failure } = repetition;
  if (!failure || node.position < failure.place)
    repetition.failure = { ...error, place: node.position, nodeID: node.id, frame: path };
}
