import { setImmediate as nextRound } from 'node:timers/promises';
import type { JsonObject } from '#shared/core/json.ts';
import type { PlannedEdge, PlannedNode } from '#shared/messaging/queues/workflow-plans.ts';
import type { GraphNode } from '#shared/workflow/graph/graph.ts';
import { inOrder } from '#shared/workflow/graph/order.ts';
import type { LoadedVersion } from '../state/run.ts';
import { any, both, type Certainty, no, shownCertainty, yes } from './certainty.ts';
import { evaluateNode } from './evaluate-node.ts';
import { createShow } from './show.ts';
import { PlannedScope } from './values.ts';

export interface Plan {
  nodes: PlannedNode[];
  edges: PlannedEdge[];
}

/** After this many nodes the planner lets other work of the process run. */
const NODES_PER_ROUND = 20;

/**
 * Walks a graph with an input, and finds for each node and edge whether a run would come to it. Pure nodes are computed. Other nodes are not
 * executed: their outputs are unknown, and depend on the run.
 */
export async function planRun(version: LoadedVersion, input: JsonObject, signal: AbortSignal): Promise<Plan> {
  const { graph } = version;
  const before = graph.nodes.map(() => new Uint32Array(Math.ceil(graph.nodes.length / 32)));
  const bitsOf = ({ index }: GraphNode) => before[index] ?? new Uint32Array();
  const edges = graph.edges.map((): Certainty => no);
  const planned: PlannedNode[] = [];
  const show = createShow();
  let visited = 0;

  /** Records the nodes that come before a node, the node that repeats its body among them: a bit for the index of each. */
  function noteBefore(node: GraphNode): void {
    const bits = bitsOf(node);
    const container = graph.regions[node.region]?.container ?? null;
    const sources = node.incoming.map((edge) => graph.edges[edge]?.source ?? -1);
    for (const index of container === null ? sources : [...sources, container]) {
      for (const [at, word] of (before[index] ?? []).entries()) bits[at] = (bits[at] ?? 0) | word;
      bits[index >>> 5] = (bits[index >>> 5] ?? 0) | (1 << (index & 31));
    }
  }

  async function walk(region: number, scope: PlannedScope): Promise<void> {
    for (const index of inOrder(graph, graph.regions[region]?.nodes ?? [])) {
      const node = graph.nodes[index];
      if (node) await visit(node, scope);
    }
  }

  async function yieldToOthers(): Promise<void> {
    visited += 1;
    if (visited % NODES_PER_ROUND !== 0) return;
    await nextRound();
    signal.throwIfAborted();
  }

  async function visit(node: GraphNode, scope: PlannedScope): Promise<void> {
    await yieldToOthers();
    noteBefore(node);
    const isReached = node.index === graph.startIndex ? yes : any(node.incoming.map((edge) => edges[edge] ?? no));
    const { is, ...why } = shownCertainty(isReached);
    const planNode = { nodeID: node.id, kind: node.definition.kind, isReached: is, ...why };
    if (isReached.is === false) {
      planned.push(planNode);
      if (node.body !== null) await walk(node.body, new PlannedScope(new Map(), bitsOf, { scope, container: node }));
      return;
    }
    const judged = await evaluateNode(version, node, { scope, isReached });
    planned.push({ ...planNode, ...judged.shown, values: show(node, scope) });
    for (const [exit, indices] of node.exits)
      for (const edge of indices) edges[edge] = both(isReached, judged.leavesBy(exit));
    if (node.body !== null) await walk(node.body, new PlannedScope(judged.given, bitsOf, { scope, container: node }));
  }

  await walk(0, new PlannedScope(new Map([['input', { known: input }]]), bitsOf));
  return {
    nodes: planned,
    edges: graph.edges.map(({ id, index }) => {
      const { is: isTaken, ...why } = shownCertainty(edges[index] ?? no);
      return { edgeID: id, isTaken, ...why };
    }),
  };
}
