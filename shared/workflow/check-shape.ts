import type { Issue } from './issues.ts';

/** A graph as indices: the successors of each node. */
export interface Shape {
  readonly ids: readonly string[];
  /** Nodes at which runs begin. */
  readonly roots: Iterable<number>;
  readonly next: readonly (readonly number[])[];
}

/** Finds faults of the graph as a whole: nodes that no run can reach, and cycles. */
export function checkShape(shape: Shape): Issue[] {
  return [...unreachable(shape), ...cycles(shape)];
}

function unreachable({ ids, roots, next }: Shape): Issue[] {
  const reached = new Set(roots);
  // The loop over the Set also visits nodes that are added meanwhile.
  for (const node of reached) for (const target of next[node] ?? []) reached.add(target);
  return ids.flatMap((id, node) => {
    if (reached.has(node)) return [];
    return [{ path: ['workflowNodes', node], message: `node "${id}" cannot be reached from the start node` }];
  });
}

/** Returns one issue for each edge that leads back to a node on the way to it. */
function cycles(shape: Shape): Issue[] {
  const issues: Issue[] = [];
  const left = new Set<number>();
  for (const node of shape.ids.keys()) if (!left.has(node)) walk(shape, node, { left, issues });
  return issues;
}

/** Walks depth first; `way` leads to the current node. Not recursive, since a chain may be thousands of nodes long. */
function walk({ ids, next }: Shape, from: number, { left, issues }: { left: Set<number>; issues: Issue[] }): void {
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
      left.add(node);
      depthOf.delete(node);
      way.pop();
      upcoming.pop();
    } else if (depthOf.has(target)) issues.push(cycle(way.slice(depthOf.get(target)), ids));
    else if (!left.has(target)) {
      depthOf.set(target, way.length);
      way.push(target);
      upcoming.push(0);
    }
  }
}

const maxNamed = 20;

function cycle(nodes: readonly number[], ids: readonly string[]): Issue {
  const names = nodes.slice(0, maxNamed).map((node) => `"${ids[node]}"`);
  if (nodes.length > maxNamed) names.push(`${nodes.length - maxNamed} more`);
  return {
    path: ['workflowNodes', nodes[0] ?? 0],
    message: `these nodes form a cycle, which no node kind allows: ${[...names, names[0]].join(' → ')}`,
  };
}
