import { z } from 'zod';

/** One pass through the body of a node that repeats it: a round of a loop, or an item of a map. */
export interface Iteration {
  nodeID: string;
  iteration: number;
}

/** The iterations around a node, outermost first; empty outside of bodies. With the node's id it names an *activation*. Published as `frame`. */
export type IterationPath = Iteration[];

const Iteration = z.object({ nodeID: z.string(), iteration: z.int() }).meta({ id: 'Iteration' });
export const IterationPath = z
  .array(Iteration)
  .meta({ id: 'Frame', description: 'The iterations around a node, outermost first; empty outside of loops' });

/** The index of the innermost iteration; 0 outside of bodies. */
export function innermost(path: IterationPath): number {
  return path.at(-1)?.iteration ?? 0;
}

/** The key of an activation among those of its node: the indices of its iterations, outermost first; `0` outside of bodies. */
export function pathKey(path: IterationPath): string {
  return path.length === 0 ? '0' : path.map(({ iteration }) => iteration).join('.');
}

/**
 * The key by which other servers recognize a repeated request of a node: `runID.nodeID.0`, and inside of bodies the index of each iteration, as in
 * `runID.nodeID.4-0`. The last part has no dot, because ids of nodes may have some.
 */
export function idempotencyKey(runID: string, nodeID: string, path: IterationPath): string {
  return `${runID}.${nodeID}.${pathKey(path).replaceAll('.', '-')}`;
}
