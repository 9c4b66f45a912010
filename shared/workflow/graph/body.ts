import type { Graph, GraphNode } from './graph.ts';

/**
 * The graph for a chunk of a map: a run that begins and ends with one node and does nothing but repeat its body. Nodes and edges have the
 * same indices as in the whole graph, so lists by index, such as policies, fit both.
 */
export function bodyGraph(graph: Graph, container: GraphNode): Graph {
  const { index, definition, exits } = container;
  const root: GraphNode = {
    ...container,
    region: 0,
    position: 0,
    incoming: [],
    exits: new Map([...exits].filter(([exit]) => exit === definition.body)),
  };
  return {
    nodes: graph.nodes.with(index, root),
    edges: graph.edges,
    startIndex: index,
    regions: graph.regions.with(0, { container: null, nodes: [index], entries: [] }),
    indexOf: graph.indexOf,
  };
}
