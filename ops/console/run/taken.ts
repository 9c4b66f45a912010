import type { NodeSteps } from '../client/run-steps.ts';
import type { Schemas } from '../client/types.ts';
import type { Graph, GraphEdge } from './graph-of.ts';

/** The part of the API's description of node kinds that is used here. */
export type Exits = Pick<Schemas['NodeDescription'], 'usualExit' | 'bodyExit' | 'forks' | 'exitAliases'>;

interface Passage {
  graph: Graph;
  nodes: ReadonlyMap<string, NodeSteps>;
  /** Without them, only edges that are certain. */
  kinds: Readonly<Record<string, Exits>> | undefined;
  /** Nodes whose items are steps of other runs. */
  maps: ReadonlySet<string>;
}

/** The ids of the edges that were taken, in any iteration. */
export function takenEdges({ graph, nodes, kinds, maps }: Passage): ReadonlySet<string> {
  const kindOf = new Map(graph.nodes.map(({ id, kind }) => [id, kinds?.[kind]]));
  const into = Map.groupBy(graph.edges, ({ target }) => target);
  const outOf = Map.groupBy(graph.edges, ({ source }) => source);
  const taken = graph.edges.filter(isTaken);
  return new Set(taken.map(({ id }) => id));

  function isTaken(edge: GraphEdge): boolean {
    const source = nodes.get(edge.source);
    const target = nodes.get(edge.target);
    const kind = kindOf.get(edge.source);
    const isOfBody = edge.exit !== undefined && edge.exit === kind?.bodyExit;
    if (isOfBody && maps.has(edge.source)) return true;
    if (!target || target.isSkipped) return false;
    // The only way to a node that has begun. In the run of a map's items, its source has no steps.
    if (isOfBody || into.get(edge.target)?.length === 1) return true;
    const siblings = outOf.get(edge.source) ?? [];
    return [...(source?.exits ?? [])].some((left) => isTakenBy(edge, left, { kind, siblings }));
  }
}

interface Around {
  kind: Exits | undefined;
  /** The edges of the same source. */
  siblings: readonly Pick<GraphEdge, 'exit'>[];
}

/** Whether this edge is taken by a source that was left by the exit `left`. */
export function isTakenBy({ exit }: Pick<GraphEdge, 'exit'>, left: string, { kind, siblings }: Around): boolean {
  const name = exit || 'output';
  if (name === left) return true;
  if (!kind) return false;
  if (kind.forks && left === kind.usualExit) return name !== 'error';
  if (name === 'output') return left === kind.usualExit;
  if (kind.exitAliases[name] === left) return true;
  const isConnected = left === 'error' || siblings.some((one) => one.exit === left);
  return name === 'else' && !isConnected;
}
