import type { Schemas } from '../client/types.ts';

/** What the console shows of a node. The document has no more of it than that it is an object. */
export interface GraphNode {
  id: string;
  kind: string;
  title: string;
  data: Readonly<Record<string, unknown>>;
}

export interface GraphEdge {
  id: string;
  source: string;
  target: string;
  exit: string | undefined;
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

export function graphOf({ workflowNodes, workflowEdges }: Schemas['WorkflowVersion']): Graph {
  return {
    nodes: workflowNodes.map(({ id, type, data }) => {
      const own = (typeof data === 'object' && data !== null ? data : {}) as Record<string, unknown>;
      const title = typeof own.title === 'string' && own.title !== '' ? own.title : String(id);
      return { id: String(id), kind: String(type), title, data: own };
    }),
    edges: workflowEdges.map(({ id, source, target, sourceHandle }) => ({
      id: String(id),
      source: String(source),
      target: String(target),
      exit: typeof sourceHandle === 'string' ? sourceHandle : undefined,
    })),
  };
}

export function titleOf(graph: Graph | undefined, nodeID: string): string {
  return graph?.nodes.find(({ id }) => id === nodeID)?.title ?? nodeID;
}
