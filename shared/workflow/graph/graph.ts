/**
 * A *workflow* is a saved graph; an *instance*, or *run*, is one passage through it.
 * A *node* is a step of some kind with its config; an *edge* leads from an exit of one node to another node.
 * An *exit* is a way out of a node. A node leaves by one exit: edges of that exit are *taken*, its other edges are *dead*, and so is
 * every node whose edges are all dead. Hence a join of branches of which only one can happen never waits for the other.
 * A node may repeat a *body*, the nodes behind one of its exits. Each pass through the body is an *iteration*; an *activation* is a node
 * together with the iterations around it. A run executes activations: see `progress.ts`.
 */
import { z } from 'zod';
import { isJsonObject, JsonObject } from '../../core/json.ts';
import { quote } from '../../core/quote.ts';
import { looseObject } from '../../core/record.ts';
import { firstIssues, type Issue, invalid, within } from '../../core/schema/issues.ts';
import { readBy } from '../../core/schema/walk.ts';
import { type AnyNode, nodes } from '../nodes/index.ts';
import { isPure } from '../nodes/properties.ts';
import { checkEdge } from './check-edge.ts';
import { type CheckedNode, checkNode } from './check-node.ts';
import { checkShape, type Shape } from './check-shape.ts';
import { type LinkUse, linkIssues } from './link-uses.ts';
import { divide, MAX_NESTED_BODIES, type Region, type Regions } from './regions.ts';
import type { VariableUses } from './variable-uses.ts';

const GraphID = z.string().min(1).max(255);

const byKind: ReadonlyMap<unknown, z.ZodType> = new Map(
  nodes.map(({ kind, config }) => [kind, looseObject({ data: config })]),
);

/**
 * A node as the editor sends it; other fields, such as position and size, pass through. Its data is stored as a whole, and its
 * kind reads only the fields of its config.
 */
export const WorkflowNode = readBy(
  looseObject({ id: GraphID, type: z.string(), data: JsonObject.default({}) }),
  (node) => byKind.get(Reflect.get(node, 'type')),
);
export type WorkflowNode = z.infer<typeof WorkflowNode>;

export const WorkflowEdge = looseObject({
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
  /** The data of the node as saved. */
  readonly data: JsonObject;
  /** `data` parsed by the kind's schema, except for templates of other types than text. Shared by all runs. */
  readonly config: unknown;
  readonly hasTemplates: boolean;
  /** The uses of variables in the node; null if there are none. */
  readonly variables: VariableUses | null;
  /** Links to questions of other nodes, which its templates insert. */
  readonly links: readonly LinkUse[];
  readonly joinMode: 'all' | 'any';
  readonly isDisabled: boolean;
  /** Whether the node may be computed again at will, with any values for its templates. */
  readonly isPure: boolean;
  /** Index of the region that the node lies in. */
  readonly region: number;
  /** Index of the node in the `nodes` of its region. */
  readonly position: number;
  /** Index of the region that the node repeats as its body; null if it has no body, or no edge leads into it. */
  readonly body: number | null;
  /** Indices of the edges that lead to the node, except those that lead back from its own body. */
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
  readonly regions: readonly Region[];
  readonly indexOf: ReadonlyMap<string, number>;
}

export type GraphIssue = Issue;

/** Compiles the graph, or throws its faults. Yields where it may pause. */
export function* compileGraph(nodes: readonly WorkflowNode[], edges: readonly WorkflowEdge[]): Generator<void, Graph> {
  return requireWhole(yield* checkGraph(nodes, edges));
}

/**
 * Compiles the graph of a stored version, which was checked when it was saved, perhaps by a release that refused less: runs of it go
 * on, and a node whose config is refused by now fails when it is executed. Throws other faults. Yields where it may pause.
 */
export function* compileStored(nodes: readonly WorkflowNode[], edges: readonly WorkflowEdge[]): Generator<void, Graph> {
  return requireWhole(yield* checkGraph(nodes, edges, { isAccepted: true }));
}

function requireWhole({ graph, issues }: Checked): Graph {
  if (!graph) throw invalid(issues);
  return graph;
}

type Checked = { graph: Graph; issues: [] } | { graph: null; issues: GraphIssue[] };

/** Compiles the graph, or returns its first faults. Yields where it may pause. */
export function* checkGraph(
  nodes: readonly WorkflowNode[],
  edges: readonly WorkflowEdge[],
  { isAccepted = false } = {},
): Generator<void, Checked> {
  const indexOf = new Map(nodes.map(({ id }, index) => [id, index] as const).reverse());
  const checkedNodes: CheckedNode[] = [];
  for (const node of nodes) {
    checkedNodes.push(yield* checkNode(node, isAccepted));
    yield;
  }
  const checkedEdges = edges.map((edge) => checkEdge(edge, { nodes: checkedNodes, indexOf }));
  const links = checkedEdges.flatMap(({ link }, index) => (link ? [{ index, ...link }] : []));
  yield;
  const division = divide(nodes.length, links, (index) => checkedNodes[index]?.definition?.body);
  const onward = links.filter(({ index }) => !division.returns.has(index));
  const starts = [...checkedNodes.keys()].filter((index) => checkedNodes[index]?.definition?.begins);

  yield;
  const issues = firstIssues(found());
  const [startIndex] = starts;
  if (issues.length > 0 || startIndex === undefined) return { graph: null, issues };
  yield;
  const { regions } = division;
  return {
    graph: { nodes: assemble(checkedNodes, links, division), edges: links, startIndex, regions, indexOf },
    issues: [],
  };

  function* found(): Generator<GraphIssue> {
    yield* startIssues(starts);
    for (const index of repeated(nodes))
      yield { path: ['workflowNodes', index, 'id'], message: 'another node has this id' };
    for (const [index, node] of checkedNodes.entries()) yield* within(['workflowNodes', index], node.issues);
    for (const index of repeated(edges))
      yield { path: ['workflowEdges', index, 'id'], message: 'another edge has this id' };
    for (const [index, edge] of checkedEdges.entries()) yield* within(['workflowEdges', index], edge.issues);
    for (const [index, node] of checkedNodes.entries())
      yield* within(['workflowNodes', index], [...linkIssues(node, (id) => besides(index, id))]);
    yield* checkShape(shapeOf(nodes, onward, starts));
    for (const index of division.strays) yield strayIssue(index);
    for (const index of division.tooDeep) yield { path: ['workflowNodes', index], message: deepHint };
  }

  /** The node with an id, if it lies in the same body as the node at an index: only then both have the same iterations around them. */
  function besides(index: number, id: string): CheckedNode | undefined {
    const found = indexOf.get(id) ?? -1;
    return division.regionOf[found] === division.regionOf[index] ? checkedNodes[found] : undefined;
  }

  function strayIssue(index: number): GraphIssue {
    const { source, target } = checkedEdges[index]?.link ?? { source: -1, target: -1 };
    const [from, to] = [source, target].map((node) => quote(nodes[node]?.id));
    const bodyOf = (node: number) => {
      const container = division.regions[division.regionOf[node] ?? 0]?.container ?? null;
      return container === null ? '' : ` of ${quote(nodes[container]?.id)}`;
    };
    const message = division.returns.has(index)
      ? `the edge leads from the body${bodyOf(source)} back to ${to}, but the body${bodyOf(source)} has to end first`
      : `the edge leads from ${from} into the body${bodyOf(target)} from outside of it: ${to} can be reached from the body as well`;
    return { path: ['workflowEdges', index], message };
  }
}

const deepHint = `bodies lie in each other more than ${MAX_NESTED_BODIES} levels deep, or have nodes in common`;

function startIssues([first, ...others]: readonly number[]): GraphIssue[] {
  if (first === undefined) return [{ path: ['workflowNodes'], message: 'there is no start node' }];
  return others.map((index) => ({ path: ['workflowNodes', index, 'type'], message: 'there is another start node' }));
}

/** Indices of elements whose id an earlier element has. */
function repeated(list: readonly { id: string }[]): number[] {
  const seen = new Set<string>();
  return [...list.keys()].filter((index) => seen.size === seen.add(list[index]?.id ?? '').size);
}

/**
 * The graph as indices, to check it as a whole. Without a start node all nodes count as roots, and so do nodes with a repeated id: they are not
 * reported as unreachable as well, because the cause is reported already.
 */
function shapeOf(nodes: readonly WorkflowNode[], links: readonly GraphEdge[], starts: readonly number[]): Shape {
  const next = nodes.map((): number[] => []);
  for (const { source, target } of links) next[source]?.push(target);
  return {
    ids: nodes.map(({ id }) => id),
    roots: starts.length > 0 ? [...starts, ...repeated(nodes)] : nodes.keys(),
    next,
  };
}

function assemble(checked: readonly CheckedNode[], edges: readonly GraphEdge[], division: Regions): GraphNode[] {
  const onward = edges.filter(({ index }) => !division.returns.has(index));
  const arriving = Map.groupBy(onward, (edge) => edge.target);
  const leaving = Map.groupBy(edges, (edge) => edge.source);
  const bodies = new Map(
    division.regions.map(({ container, entries }, at) => [entries.length > 0 ? container : null, at]),
  );
  return checked.flatMap((node, index) => {
    const { id, data, definition, config, hasTemplates, variables, links, isRefused } = node;
    if (!definition) return [];
    const exits = Map.groupBy(leaving.get(index) ?? [], (edge) => edge.exit);
    const { joinMode, isDisabled } = isJsonObject(config) ? config : {};
    const compiled: GraphNode = {
      index,
      id,
      definition,
      data,
      config,
      hasTemplates,
      variables,
      links,
      joinMode: joinMode === 'any' ? 'any' : 'all',
      isDisabled: isDisabled === true,
      // A node that uses variables is not pure: they have to be read, and may change.
      isPure: variables === null && !isRefused && isPure(definition, config),
      region: division.regionOf[index] ?? 0,
      position: division.positionOf[index] ?? 0,
      body: bodies.get(index) ?? null,
      incoming: indices(arriving.get(index)),
      exits: new Map([...exits].map(([exit, list]) => [exit, indices(list)])),
    };
    return [compiled];
  });
}

function indices(edges: readonly GraphEdge[] = []): number[] {
  return edges.map((edge) => edge.index);
}
