import type { Graph, GraphNode } from './graph.ts';

/**
 * The graph of a run that repeats the body of one node and does nothing else: it begins with that node and ends with it. Indices of
 * nodes and edges are those of the whole graph, so that what is known by them holds for both.
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
