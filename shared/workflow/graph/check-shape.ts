import { quote } from '../../core/quote.ts';
import type { Issue } from '../../core/schema/issues.ts';

/** A graph as indices: the successors of each node. */
export interface Shape {
  readonly ids: readonly string[];
  /** Nodes at which runs begin. */
  readonly roots: Iterable<number>;
  readonly next: readonly (readonly number[])[];
}

/** Finds faults of the graph as a whole: nodes that no run can reach, and cycles. */
export function* checkShape(shape: Shape): Generator<Issue> {
  yield* unreachable(shape);
  yield* cycles(shape);
}

function* unreachable({ ids, roots, next }: Shape): Generator<Issue> {
  const reached = new Set(roots);
  // The loop over the Set also visits nodes that are added meanwhile.
  for (const node of reached) for (const target of next[node] ?? []) reached.add(target);
  for (const [node, id] of ids.entries())
    if (!reached.has(node))
      yield { path: ['workflowNodes', node], message: `node ${quote(id)} cannot be reached from the start node` };
}

/** Yields an issue for each edge that leads back to a node on the path by which it was reached. */
function* cycles(shape: Shape): Generator<Issue> {
  const finished = new Set<number>();
  for (const node of shape.ids.keys()) if (!finished.has(node)) yield* walk(shape, node, finished);
}

/**
 * Walks depth first: `way` is the path to the current node, `upcoming` the next successor to visit of each node on it. Not recursive, since a
 * chain may be thousands of nodes long.
 */
function* walk({ ids, next }: Shape, from: number, finished: Set<number>): Generator<Issue> {
  const way = [from];
  const depthOf = new Map([[from, 0]]);
  const upcoming = [0];
  while (way.length > 0) {
    const depth = way.length - 1;
    const node = way[depth] ?? from;
    const at = upcoming[depth] ?? 0;
    const target = next[node]?.[at];
    upcoming[depth] = at + 1;
    if (target === undefined) {
      finished.add(node);
      depthOf.delete(node);
      way.pop();
      upcoming.pop();
    } else if (depthOf.has(target)) yield cycle(way, depthOf.get(target) ?? 0, ids);
    else if (!finished.has(target)) {
      depthOf.set(target, way.length);
      way.push(target);
      upcoming.push(0);
    }
  }
}

/** Nodes that a message names. */
const maxNamed = 20;

/** The issue for a cycle: the nodes of the path from the index `from` on, of which only the first are named. */
function cycle(way: readonly number[], from: number, ids: readonly string[]): Issue {
  const names = way.slice(from, from + maxNamed).map((node) => quote(ids[node]));
  const others = way.length - from - maxNamed;
  if (others > 0) names.push(`${others} more`);
  return {
    path: ['workflowNodes', way[from] ?? 0],
    message: `these nodes form a cycle, and only a body may lead back, to the node that repeats it: ${[...names, names[0]].join(' → ')}`,
  };
}
