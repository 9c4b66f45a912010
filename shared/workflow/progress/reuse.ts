import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../core/json.ts';
import type { Graph, GraphNode } from '../graph/graph.ts';
import { inOrder, nodeAt, sourcesOf } from '../graph/order.ts';
import { pathKey } from './activation.ts';
import { Progress } from './progress.ts';

/** Nodes outside of bodies whose results a later run may take over from an earlier one, if they have any. */
export interface Reuse {
  reusable: string[];
  /** Not taken over, because they or something before them have changed between the two graphs. */
  changed: string[];
}

/**
 * Finds what a run of the graph `after` may take over from a run of the graph `before`, if it is to execute the nodes `from` and everything
 * behind them again: nodes that are the same in both, and so is everything before them. A node that repeats a body is the same only
 * if its body is.
 */
export function findReuse(before: Graph, after: Graph, from: readonly string[]): Reuse {
  const known = new Map<number, 'reusable' | 'changed' | 'again'>();
  const again = new Set(from);

  function stateOf(index: number): 'reusable' | 'changed' | 'again' {
    const found = known.get(index);
    if (found) return found;
    const node = nodeAt(after, index);
    const earlier = sourcesOf(after, node).map(stateOf);
    const state = own(node, earlier);
    known.set(index, state);
    return state;
  }

  function own(node: GraphNode, earlier: readonly string[]) {
    if (again.has(node.id) || earlier.includes('again')) return 'again';
    return earlier.includes('changed') || !isSame(before, after, node) ? 'changed' : 'reusable';
  }

  const outermost = after.regions[0]?.nodes ?? [];
  // In an order in which each node comes after those before it: a deep graph would overflow the stack.
  for (const index of inOrder(after, outermost)) stateOf(index);
  const idsOf = (state: string) => outermost.filter((i) => known.get(i) === state).map((i) => nodeAt(after, i).id);
  return { reusable: idsOf('reusable'), changed: idsOf('changed') };
}

/** Whether the results that are taken over, in the order in which they came, lead past a node: no branch would come to it. */
export function leadsPast(
  graph: Graph,
  taken: Iterable<readonly [nodeID: string, exit: string | null]>,
  nodeID: string,
): boolean {
  const progress = new Progress(graph);
  const open = new Set(progress.begin());
  for (const [id, exit] of taken) {
    const activation = progress.find(id, pathKey([]));
    if (activation && open.delete(activation)) for (const ready of progress.settle(activation, exit)) open.add(ready);
  }
  const node = graph.nodes[graph.indexOf.get(nodeID) ?? -1];
  return node !== undefined && progress.isDead(node);
}

/** The node outside of every body around a node: itself, or the outermost one that repeats it. */
export function outermostOf(graph: Graph, nodeID: string): GraphNode | undefined {
  let node = graph.nodes[graph.indexOf.get(nodeID) ?? -1];
  for (;;) {
    const container = graph.regions[node?.region ?? 0]?.container ?? null;
    if (!node || container === null) return node;
    node = graph.nodes[container];
  }
}

function isSame(before: Graph, after: Graph, node: GraphNode): boolean {
  const was = before.nodes[before.indexOf.get(node.id) ?? -1];
  if (!was || was.definition.kind !== node.definition.kind) return false;
  if (!isDeepStrictEqual(whatCounts(was), whatCounts(node))) return false;
  if (!isDeepStrictEqual(comingInto(before, was), comingInto(after, node))) return false;
  const [bodyBefore, body] = [bodyOf(before, was), bodyOf(after, node)];
  return bodyBefore.length === body.length && body.every((inner) => isSame(before, after, inner));
}

/** The data of a node without its title and description, which change nothing. */
function whatCounts({ data }: GraphNode): JsonObject {
  const { title: _, description: __, ...rest } = data;
  return rest;
}

function comingInto(graph: Graph, { incoming }: GraphNode): string[] {
  return incoming
    .map((index) => graph.edges[index])
    .map((edge) => JSON.stringify([nodeAt(graph, edge?.source ?? -1).id, edge?.exit]))
    .sort();
}

/** The nodes that a node repeats; those in the bodies of these are looked at with them. */
function bodyOf(graph: Graph, { index }: GraphNode): GraphNode[] {
  const region = graph.regions.find(({ container }) => container === index);
  return (region?.nodes ?? []).map((inner) => nodeAt(graph, inner));
}
