import type { Graph } from '#shared/workflow/graph/graph.ts';
import { divide } from '#shared/workflow/graph/regions.ts';

/** The graph as if the exit `exit` of some nodes led to a body that they repeat. */
export function withBodies(graph: Graph, exit: string, repeats: (nodeID: string) => boolean): Graph {
  const { nodes, edges } = graph;
  const division = divide(nodes.length, edges, (index) => (repeats(nodes[index]?.id ?? '') ? exit : undefined));
  const bodies = new Map(division.regions.map(({ container }, at) => [container, at]));
  if (division.strays.length > 0) throw new Error('An edge leads into a body from outside of it');
  return {
    ...graph,
    regions: division.regions,
    nodes: nodes.map((node) => ({
      ...node,
      region: division.regionOf[node.index] ?? 0,
      position: division.positionOf[node.index] ?? 0,
      body: bodies.get(node.index) ?? null,
    })),
  };
}
