import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../core/json.ts';
import type { Graph, GraphNode } from '../graph/graph.ts';
import { inOrder, nodeAt, sourcesOf } from '../graph/order.ts';
import { pathKey } from './iteration-path.ts';
import { Progress } from './progress.ts';

/** Nodes outside of bodies whose results a later run may take over from an earlier one, if the earlier run has reached them. */
export interface Reuse {
  reusable: string[];
  /** Nodes whose results are not taken over, because they or nodes before them differ between the two graphs. */
  changed: string[];
}

/**
 * Finds what a run of the graph `after` may take over from a run of the graph `before`, if it is to execute the nodes `from` and everything
 * behind them again: nodes that, with all nodes before them, are the same in both graphs. A node that repeats a body is the same
 * only if its body is.
 */
export function findReuse(before: Graph, after: Graph, from: readonly string[]): Reuse {
  const known = new Map<number, 'reusable' | 'changed' | 'again'>();
  const again = new Set(from);

  function stateOf(index: number): 'reusable' | 'changed' | 'again' {
    const found = known.get(index);
    if (found) return found;
    const node = nodeAt(after, index);
    const statesBefore = sourcesOf(after, node).map(stateOf);
    const state = stateAfter(statesBefore, node);
    known.set(index, state);
    return state;
  }

  function stateAfter(statesBefore: readonly string[], node: GraphNode) {
    if (again.has(node.id) || statesBefore.includes('again')) return 'again';
    return statesBefore.includes('changed') || !isSame(before, after, node) ? 'changed' : 'reusable';
  }

  const outermost = after.regions[0]?.nodes ?? [];
  // Nodes come after those before them, so `stateOf` recurses by one step only. In another order a deep graph would overflow the stack.
  for (const index of inOrder(after, outermost)) stateOf(index);
  const idsOf = (state: string) => outermost.filter((i) => known.get(i) === state).map((i) => nodeAt(after, i).id);
  return { reusable: idsOf('reusable'), changed: idsOf('changed') };
}

/** Whether a run that takes over these results, given in the order in which they came, can never reach a node. */
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
  const earlier = before.nodes[before.indexOf.get(node.id) ?? -1];
  if (!earlier || earlier.definition.kind !== node.definition.kind) return false;
  if (!isDeepStrictEqual(effectiveData(earlier), effectiveData(node))) return false;
  if (!isDeepStrictEqual(incomingEdges(before, earlier), incomingEdges(after, node))) return false;
  const [bodyBefore, body] = [bodyOf(before, earlier), bodyOf(after, node)];
  return bodyBefore.length === body.length && body.every((inner) => isSame(before, after, inner));
}

/** The data of a node without its title and description, which change nothing. */
function effectiveData({ data }: GraphNode): JsonObject {
  const { title: _, description: __, ...rest } = data;
  return rest;
}

/** Source and exit of each edge into a node, sorted, as texts to compare. */
function incomingEdges(graph: Graph, { incoming }: GraphNode): string[] {
  return incoming
    .map((index) => graph.edges[index])
    .map((edge) => JSON.stringify([nodeAt(graph, edge?.source ?? -1).id, edge?.exit]))
    .sort();
}

/** The nodes directly in the body of a node. `isSame` compares the bodies inside of it when it comes to their nodes. */
function bodyOf(graph: Graph, { index }: GraphNode): GraphNode[] {
  const region = graph.regions.find(({ container }) => container === index);
  return (region?.nodes ?? []).map((inner) => nodeAt(graph, inner));
}
