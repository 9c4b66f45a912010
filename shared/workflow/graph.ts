/**
 * A *workflow* is a saved graph; an *instance*, or *run*, is one passage through it.
 * A *node* is a step of some kind with its config; an *edge* leads from an exit of one node to another node.
 * An *exit* is a way out of a node. A node leaves by one exit: edges of that exit are *taken*, its other edges are *dead*, and so is
 * every node whose edges are all dead. Hence a join of branches of which only one can happen never waits for the other.
 */
import { z } from 'zod';
import { isJsonObject, JsonObject } from '../json.ts';
import { type AnyNode, nodes } from '../nodes/index.ts';
import { elseExitOf } from '../nodes/properties.ts';
import { readBy } from '../schema-walk.ts';
import { checkEdge } from './check-edge.ts';
import { type CheckedNode, checkNode } from './check-node.ts';
import { checkShape, type Shape } from './check-shape.ts';
import { type Issue, invalid, within } from './issues.ts';

const GraphID = z.string().min(1).max(255);

const byKind: ReadonlyMap<unknown, z.ZodType> = new Map(
  nodes.map(({ kind, config }) => [kind, z.looseObject({ data: config })]),
);

/**
 * A node as the editor sends it; other fields, such as position and size, pass through. Its data is kept whole, and its kind reads
 * the fields of the config.
 */
export const WorkflowNode = readBy(
  z.looseObject({ id: GraphID, type: z.string(), data: JsonObject.default({}) }),
  (node) => byKind.get(Reflect.get(node, 'type')),
);
export type WorkflowNode = z.infer<typeof WorkflowNode>;

export const WorkflowEdge = z.looseObject({
  id: GraphID,
  source: z.string(),
  target: z.string(),
  sourceHandle: z.string().nullish(),
  targetHandle: z.string().nullish(),
});
export type WorkflowEdge = z.infer<typeof WorkflowEdge>;

export interface GraphNode {
  readonly index: number;
  readonly id: string;
  readonly definition: AnyNode;
  /** As saved. */
  readonly data: JsonObject;
  /** `data` parsed by the kind's schema, except for templates of other types than text. Shared by all runs. */
  readonly config: unknown;
  readonly hasTemplates: boolean;
  readonly joinMode: 'all' | 'any';
  readonly isDisabled: boolean;
  /** Indices of edges. */
  readonly incoming: readonly number[];
  /** Connected exits only, with the indices of their edges. */
  readonly exits: ReadonlyMap<string, readonly number[]>;
}

export interface GraphEdge {
  readonly index: number;
  readonly id: string;
  readonly source: number;
  readonly target: number;
  readonly exit: string;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly startIndex: number;
  readonly indexOf: ReadonlyMap<string, number>;
}

export type GraphIssue = Issue;

export function compileGraph(nodes: readonly WorkflowNode[], edges: readonly WorkflowEdge[]): Graph {
  const { graph, issues } = checkGraph(nodes, edges);
  if (!graph) throw invalid(issues);
  return graph;
}

/** Compiles the graph, or returns all its faults. */
export function checkGraph(
  nodes: readonly WorkflowNode[],
  edges: readonly WorkflowEdge[],
): { graph: Graph; issues: [] } | { graph: null; issues: GraphIssue[] } {
  const indexOf = new Map(nodes.map(({ id }, index) => [id, index] as const).reverse());
  const checkedNodes = nodes.map((node) => checkNode(node));
  const checkedEdges = edges.map((edge) => checkEdge(edge, { nodes: checkedNodes, indexOf }));
  const links = checkedEdges.flatMap(({ link }, index) => (link ? [{ index, ...link }] : []));
  const starts = [...checkedNodes.keys()].filter((index) => checkedNodes[index]?.definition?.begins);

  const issues = [
    ...startIssues(starts),
    ...repeated(nodes).map((index) => ({ path: ['workflowNodes', index, 'id'], message: 'another node has this id' })),
    ...checkedNodes.flatMap((node, index) => within(['workflowNodes', index], node.issues)),
    ...repeated(edges).map((index) => ({ path: ['workflowEdges', index, 'id'], message: 'another edge has this id' })),
    ...checkedEdges.flatMap((edge, index) => within(['workflowEdges', index], edge.issues)),
    ...checkShape(shapeOf(nodes, links, starts)),
  ];
  const [startIndex] = starts;
  if (issues.length > 0 || startIndex === undefined) return { graph: null, issues };
  return { graph: { nodes: assemble(checkedNodes, links), edges: links, startIndex, indexOf }, issues: [] };
}

function startIssues([first, ...others]: readonly number[]): GraphIssue[] {
  if (first === undefined) return [{ path: ['workflowNodes'], message: 'there is no start node' }];
  return others.map((index) => ({ path: ['workflowNodes', index, 'type'], message: 'there is another start node' }));
}

/** Indices of elements whose id an earlier element has. */
function repeated(list: readonly { id: string }[]): number[] {
  const seen = new Set<string>();
  return [...list.keys()].filter((index) => seen.size === seen.add(list[index]?.id ?? '').size);
}

/** Without a start node, or with a repeated id, no node is reported as unreachable: the cause is reported already. */
function shapeOf(nodes: readonly WorkflowNode[], links: readonly GraphEdge[], starts: readonly number[]): Shape {
  const next = nodes.map((): number[] => []);
  for (const { source, target } of links) next[source]?.push(target);
  return {
    ids: nodes.map(({ id }) => id),
    roots: starts.length > 0 ? [...starts, ...repeated(nodes)] : nodes.keys(),
    next,
  };
}

function assemble(checked: readonly CheckedNode[], edges: readonly GraphEdge[]): GraphNode[] {
  const arriving = Map.groupBy(edges, (edge) => edge.target);
  const leaving = Map.groupBy(edges, (edge) => edge.source);
  return checked.flatMap(({ id, data, definition, config, hasTemplates }, index) => {
    if (!definition) return [];
    const exits = Map.groupBy(leaving.get(index) ?? [], (edge) => edge.exit);
    const { joinMode, isDisabled } = isJsonObject(config) ? config : {};
    const node: GraphNode = {
      index,
      id,
      definition,
      data,
      config,
      hasTemplates,
      joinMode: joinMode === 'any' ? 'any' : 'all',
      isDisabled: isDisabled === true,
      incoming: indices(arriving.get(index)),
      exits: new Map([...exits].map(([exit, list]) => [exit, indices(list)])),
    };
    return [node];
  });
}

function indices(edges: readonly GraphEdge[] = []): number[] {
  return edges.map((edge) => edge.index);
}

/** Progress of one run in the graph. Opaque: only the functions below read or write it. */
export interface Progress {
  /** Per node, the edges that are neither taken nor dead yet. */
  readonly pending: Uint32Array;
  readonly state: Uint8Array;
  /** Nodes that became ready and have not been settled. */
  unsettled: number;
}

/** `called`: at least one edge was taken, others are pending. */
const state = { waiting: 0, called: 1, ready: 2, settled: 3, dead: 4 } as const;

export function createProgress(graph: Graph): Progress {
  const pending = new Uint32Array(graph.nodes.length);
  for (const node of graph.nodes) pending[node.index] = node.incoming.length;
  return { pending, state: new Uint8Array(graph.nodes.length), unsettled: 0 };
}

/** Makes the start node ready. Returns the nodes that became ready. */
export function begin(graph: Graph, progress: Progress): number[] {
  if (progress.state[graph.startIndex] !== state.waiting) return [];
  progress.state[graph.startIndex] = state.ready;
  progress.unsettled += 1;
  return [graph.startIndex];
}

/** Whether all nodes that became ready are settled. */
export function isFinished(_graph: Graph, progress: Progress): boolean {
  return progress.unsettled === 0;
}

/**
 * Settles a node that left by an exit, or by none: an end node, a failed node. Returns the nodes that become ready, in the order
 * of their edges. Settling a node again changes nothing.
 */
export function settle(graph: Graph, progress: Progress, nodeIndex: number, exit: string | null): number[] {
  const node = graph.nodes[nodeIndex];
  if (progress.state[nodeIndex] === state.settled) return [];
  if (!node || progress.state[nodeIndex] !== state.ready)
    throw new Error(`Node ${node?.id ?? nodeIndex} is settled before it is ready`);

  progress.state[nodeIndex] = state.settled;
  const wave: Wave = { graph, progress, ready: [], dead: [] };
  leave(wave, node, exit === null ? undefined : takenEdges(node, exit));
  // The list grows in the loop: a dead node may make the nodes after it dead.
  for (const dead of wave.dead) leave(wave, dead, undefined);
  progress.unsettled += wave.ready.length - 1;
  return wave.ready;
}

function takenEdges(node: GraphNode, exit: string): readonly number[] | undefined {
  const edges = node.exits.get(exit);
  if (edges || exit === 'error') return edges;
  return node.exits.get(elseExitOf(node.definition, node.config) ?? exit);
}

/** The effects of settling one node. */
interface Wave {
  readonly graph: Graph;
  readonly progress: Progress;
  readonly ready: number[];
  readonly dead: GraphNode[];
}

function leave(wave: Wave, node: GraphNode, taken: readonly number[] | undefined): void {
  const { nodes, edges } = wave.graph;
  for (const exit of node.exits.values()) {
    for (const index of exit) {
      const target = nodes[edges[index]?.target ?? -1];
      if (target) arrive(wave, target, exit === taken ? 'taken' : 'dead');
    }
  }
}

function arrive({ progress, ready, dead }: Wave, target: GraphNode, edge: 'taken' | 'dead'): void {
  const { index, joinMode } = target;
  const pending = (progress.pending[index] ?? 0) - 1;
  progress.pending[index] = pending;
  const before = progress.state[index];
  if (before === state.ready || before === state.settled) return; // joinMode any: an earlier edge was enough

  const isCalled = edge === 'taken' || before === state.called;
  if (isCalled && (pending === 0 || joinMode === 'any')) {
    progress.state[index] = state.ready;
    ready.push(index);
  } else if (isCalled) progress.state[index] = state.called;
  else if (pending === 0) {
    progress.state[index] = state.dead;
    dead.push(target);
  }
}
