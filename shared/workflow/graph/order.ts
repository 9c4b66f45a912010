import type { Graph, GraphNode } from './graph.ts';

/** Yields the nodes of one region in topological order: each after all nodes from which edges lead to it. */
export function* inOrder(graph: Graph, indices: readonly number[]): Generator<number> {
  const inRegion = new Set(indices);
  const before = (index: number) => sourcesOf(graph, nodeAt(graph, index)).filter((source) => inRegion.has(source));
  const pending = new Map(indices.map((index) => [index, new Set(before(index)).size]));
  const ready = indices.filter((index) => pending.get(index) === 0);
  for (const index of ready) {
    yield index;
    for (const target of new Set(targetsOf(graph, nodeAt(graph, index)))) {
      const count = (pending.get(target) ?? 0) - 1;
      pending.set(target, count);
      if (count === 0) ready.push(target);
    }
  }
}

export function sourcesOf(graph: Graph, { incoming }: GraphNode): number[] {
  return incoming.flatMap((index) => graph.edges[index]?.source ?? []);
}

function targetsOf(graph: Graph, node: GraphNode): number[] {
  const targets = [...node.exits.values()].flat().flatMap((index) => graph.edges[index]?.target ?? []);
  return targets.filter((target) => nodeAt(graph, target).region === node.region);
}

export function nodeAt(graph: Graph, index: number): GraphNode {
  const node = graph.nodes[index];
  if (!node) throw new Error(`The graph has no node ${index}`);
  return node;
}
