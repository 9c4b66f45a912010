import dagre from '@dagrejs/dagre';

export const WIDTH = 200;
export const HEIGHT = 58;

interface Drawn {
  nodes: readonly { id: string }[];
  edges: readonly { source: string; target: string }[];
}

/** Places for the nodes of a graph, from top to bottom. */
export function layOut({ nodes, edges }: Drawn): ReadonlyMap<string, { x: number; y: number }> {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: 24, ranksep: 40 });
  graph.setDefaultEdgeLabel(() => ({}));
  const known = new Set(nodes.map(({ id }) => id));
  for (const id of known) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  for (const { source, target } of edges) if (known.has(source) && known.has(target)) graph.setEdge(source, target);
  dagre.layout(graph);
  return new Map(
    nodes.map(({ id }) => {
      const { x, y } = graph.node(id);
      return [id, { x: x - WIDTH / 2, y: y - HEIGHT / 2 }];
    }),
  );
}
