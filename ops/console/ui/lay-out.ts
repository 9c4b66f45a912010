import dagre from '@dagrejs/dagre';

export const WIDTH = 200;
export const HEIGHT = 58;

/** Which way the edges of a graph lead for the most part. */
export type Flow = 'down' | 'right';

interface Placed {
  nodes: readonly { id: string; position: { x: number; y: number } }[];
  edges: readonly { source: string; target: string }[];
}

/** Lays nodes out where an author or another editor has placed them. */
export function flowOf({ nodes, edges }: Placed): Flow {
  const positions = new Map(nodes.map(({ id, position }) => [id, position]));
  const toTheRight = edges.filter(({ source, target }) => {
    const [from, to] = [positions.get(source), positions.get(target)];
    return from && to && to.x - from.x > Math.abs(to.y - from.y);
  });
  return toTheRight.length > edges.length / 2 ? 'right' : 'down';
}

/** Room between the nodes and an edge that leads back. */
const AROUND = 24;

interface Ends {
  sourceX: number;
  sourceY: number;
  targetX: number;
  targetY: number;
}

/** Whether an edge leads against the flow, as one does that closes a loop. */
export function leadsBack({ sourceX, sourceY, targetX, targetY }: Ends, flow: Flow): boolean {
  return flow === 'down' ? targetY < sourceY : targetX < sourceX;
}

/** A path beside both nodes: a curve would lead through them. */
export function pathAround({ sourceX, sourceY, targetX, targetY }: Ends, flow: Flow): string {
  if (flow === 'down') {
    const x = Math.min(sourceX, targetX) - WIDTH / 2 - AROUND;
    return `M${sourceX},${sourceY} v${AROUND / 2} H${x} V${targetY - AROUND / 2} H${targetX} V${targetY}`;
  }
  const y = Math.max(sourceY, targetY) + HEIGHT / 2 + AROUND;
  return `M${sourceX},${sourceY} h${AROUND / 2} V${y} H${targetX - AROUND / 2} V${targetY} H${targetX}`;
}

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
