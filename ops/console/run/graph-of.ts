import type { Schemas } from '../client/types.ts';
import { type Point, pointIn } from '../graph/shown.ts';

/** The part of a node that the console shows. The document says no more of a node than that it is an object. */
export interface GraphNode {
  id: string;
  kind: string;
  title: string;
  data: Readonly<Record<string, unknown>>;
  /** Where a person has put it. */
  position?: Point | undefined;
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

/** The graph of a run that was given this input. */
export function graphOf({ workflowNodes, workflowEdges }: Schemas['WorkflowVersion'], input: unknown = null): Graph {
  return {
    nodes: workflowNodes.map(({ id, type, data, position }) => {
      const own = (typeof data === 'object' && data !== null ? data : {}) as Record<string, unknown>;
      const title = typeof own.title === 'string' && own.title !== '' ? filled(own.title, input) : String(id);
      return { id: String(id), kind: String(type), title, data: own, position: pointIn(position) };
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

/** More of a value would hide the rest of a title. */
const MAX_FILLED = 60;

/** A title with what its templates name of the input; other templates were filled by the run alone, and are left out. */
function filled(title: string, input: unknown): string {
  return title.replace(/\{\{(.*?)\}\}/g, (_, template: string) => {
    const [root, given, ...path] = template.trim().split('.');
    const value = root === 'ctx' && given === 'input' ? path.reduce(partOf, input) : undefined;
    const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    return isPlain ? String(value).slice(0, MAX_FILLED) : '…';
  });
}

function partOf(value: unknown, key: string): unknown {
  const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
  return isThere ? (value as Record<string, unknown>)[key] : undefined;
}
