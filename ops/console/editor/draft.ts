import type { Issue, Schemas } from '../client/types.ts';
import { isObject } from '../ui/is-object.ts';
import { flowOf, HEIGHT, layOut, WIDTH } from '../ui/lay-out.ts';

export type Kind = Schemas['NodeDescription'];
export type Config = Readonly<Record<string, unknown>>;

export interface DraftNode {
  id: string;
  type: string;
  data: Config;
  position: { x: number; y: number };
  /** Fields that the editor does not know, which it keeps. */
  more: Config;
}

export interface DraftEdge {
  id: string;
  source: string;
  target: string;
  sourceHandle: string | null;
  more: Config;
}

/** A graph while it is edited. */
export interface Draft {
  nodes: readonly DraftNode[];
  edges: readonly DraftEdge[];
}

interface Saved {
  workflowNodes: readonly object[];
  workflowEdges: readonly object[];
}

/** A graph that was not made in an editor has no positions for its nodes. */
export function draftOf({ workflowNodes, workflowEdges }: Saved): Draft {
  const edges = workflowEdges.map((edge): DraftEdge => {
    const { id, source, target, sourceHandle, ...more } = edge as Record<string, unknown>;
    const handle = typeof sourceHandle === 'string' ? sourceHandle : null;
    return { id: String(id), source: String(source), target: String(target), sourceHandle: handle, more };
  });
  const given = workflowNodes.map((node) => node as Record<string, unknown>);
  const positions = layOut({ nodes: given.map(({ id }) => ({ id: String(id) })), edges });
  const nodes = given.map(({ id, type, data, position, ...more }): DraftNode => {
    const own = isPosition(position) ? { x: position.x, y: position.y } : positions.get(String(id));
    return {
      ...{ id: String(id), type: String(type), data: isObject(data) ? data : {} },
      ...{ position: own ?? { x: 0, y: 0 }, more },
    };
  });
  return { nodes, edges };
}

/** As it is saved. */
export function bodyOf({ nodes, edges }: Draft) {
  return {
    workflowNodes: nodes.map(({ more, ...node }) => ({ ...more, ...node })),
    workflowEdges: edges.map(({ more, sourceHandle, ...edge }) => ({
      ...more,
      ...edge,
      ...(sourceHandle !== null && { sourceHandle }),
    })),
  } as Required<Pick<Schemas['WorkflowTest'], 'workflowNodes' | 'workflowEdges'>>;
}

/** A new node behind another one: between that and the next, if it leads to one alone. What is beyond makes room. */
export function withNode(
  draft: Draft,
  { nodeType, defaultValue, exits }: Kind,
  after: DraftNode | undefined,
): [Draft, string] {
  const id = freeID(draft, nodeType);
  const isRight = flowOf(draft) === 'right';
  const [along, across, step, breadth] = isRight
    ? (['x', 'y', COLUMN, HEIGHT] as const)
    : (['y', 'x', ROW, WIDTH] as const);
  const before = after?.position ?? { x: 0, y: 0, [along]: -step };
  const onward = (position: DraftNode['position']) => ({ ...position, [along]: position[along] + step });
  const node: DraftNode = {
    ...{ id, type: nodeType, data: defaultValue as Config, position: onward(before), more: {} },
  };
  const moved = draft.nodes.map((one) => {
    const isBeyond = one.position[along] > before[along] && Math.abs(one.position[across] - before[across]) < breadth;
    return isBeyond ? { ...one, position: onward(one.position) } : one;
  });
  const next = { ...draft, nodes: [...moved, node] };
  if (!after) return [next, id];
  const own = draft.edges.filter(({ source }) => source === after.id);
  const [only] = own;
  if (own.length !== 1 || !only || exits.length === 0)
    return [withEdge(next, { source: after.id, target: id, exit: null }), id];
  const redirected = next.edges.map((edge) => (edge === only ? { ...edge, target: id } : edge));
  return [withEdge({ ...next, edges: redirected }, { source: id, target: only.target, exit: null }), id];
}

const ROW = HEIGHT + 40;
const COLUMN = WIDTH + 40;

export function withoutNode({ nodes, edges }: Draft, id: string): Draft {
  return {
    nodes: nodes.filter((node) => node.id !== id),
    edges: edges.filter(({ source, target }) => source !== id && target !== id),
  };
}

export function withConfig(draft: Draft, id: string, data: Config): Draft {
  return { ...draft, nodes: draft.nodes.map((node) => (node.id === id ? { ...node, data } : node)) };
}

interface Link {
  source: string;
  target: string;
  /** Null: the usual one. */
  exit: string | null;
}

export function withEdge(draft: Draft, { source, target, exit }: Link): Draft {
  const isThere = draft.edges.some(
    (edge) => edge.source === source && edge.target === target && edge.sourceHandle === exit,
  );
  if (isThere || source === target) return draft;
  const ids = new Set(draft.edges.map(({ id }) => id));
  let number = draft.edges.length + 1;
  while (ids.has(`edge-${number}`)) number += 1;
  const edge: DraftEdge = { id: `edge-${number}`, source, target, sourceHandle: exit, more: {} };
  return { ...draft, edges: [...draft.edges, edge] };
}

export function withoutEdge(draft: Draft, id: string): Draft {
  return { ...draft, edges: draft.edges.filter((edge) => edge.id !== id) };
}

export function withExit(draft: Draft, id: string, exit: string | null): Draft {
  return { ...draft, edges: draft.edges.map((edge) => (edge.id === id ? { ...edge, sourceHandle: exit } : edge)) };
}

export function nameOf({ id, data }: DraftNode): string {
  return typeof data.title === 'string' && data.title !== '' ? data.title : id;
}

/** Faults of what was sent by node and, in it, by field; those of no node are under the empty name. A node that differs now has none. */
export function faultsOf(
  issues: readonly Issue[],
  sent: Draft,
  now: Draft,
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const faults = new Map<string, Map<string, string>>();
  for (const { path, message } of issues) {
    const [list, index, ...rest] = path;
    const isNode = list === 'workflowNodes' || list === 'nodes';
    const at = isNode ? sent.nodes[Number(index)]?.id : sent.edges[Number(index)]?.source;
    const field = isNode && rest[0] === 'data' ? rest.slice(1) : isNode ? rest : ['edge', ...rest];
    const name = at ?? '';
    if (hasChanged(name, sent, now)) continue;
    const own = faults.get(name) ?? new Map<string, string>();
    faults.set(name, own.set(field.join('.'), message));
  }
  return faults;
}

/** Whether the config of a node or an edge that leaves it is another one; its position does not count. */
function hasChanged(id: string, before: Draft, now: Draft): boolean {
  const partsIn = ({ nodes, edges }: Draft) => [
    nodes.find((node) => node.id === id)?.data,
    ...edges.filter(({ source }) => source === id),
  ];
  const [old, own] = [partsIn(before), partsIn(now)];
  return old.length !== own.length || old.some((part, index) => part !== own[index]);
}

function freeID({ nodes }: Draft, type: string): string {
  const ids = new Set(nodes.map(({ id }) => id));
  if (!ids.has(type)) return type;
  let number = 2;
  while (ids.has(`${type}${number}`)) number += 1;
  return `${type}${number}`;
}

function isPosition(position: unknown): position is { x: number; y: number } {
  return isObject(position) && typeof position.x === 'number' && typeof position.y === 'number';
}
