import { exitOfEdge, exitsOf, onwardExits } from '../graph/exits.ts';
import type { Kind, Kinds } from '../graph/kinds.ts';
import { COLUMN, HEIGHT, layoutOf, ROW, WIDTH } from '../graph/lay-out.ts';
import { resultName } from '../graph/result-name.ts';
import { bodiesOf, withBody } from '../graph/shape.ts';
import type { Point } from '../graph/shown.ts';
import { type Config, type Draft, type DraftNode, firstFree, freeID, withConfig, withEdge } from './draft.ts';

/** Where a new step is added. */
export interface Where {
  /** The exit that leads to it. */
  from?: { id: string; exit: string } | undefined;
  /** The edge in whose middle it comes: its target is then behind the step. */
  edge?: string | undefined;
  /** The exit of the new step that leads on to that target. */
  onward?: string | undefined;
  /** Where a person has dropped it. */
  at?: Point | undefined;
}

/** Adds a step, and returns its id. What is beyond it makes room where a person has arranged the graph. */
export function withStep(draft: Draft, kinds: Kinds, kind: Kind, where: Where): [Draft, string] {
  const id = freeID(draft, kind.nodeType);
  const edge = draft.edges.find((one) => one.id === where.edge);
  const source = where.from?.id ?? edge?.source;
  const roomy = withRoom(draft, kinds, { source, at: where.at });
  const node: DraftNode = {
    ...{ id, type: kind.nodeType, data: asNew(draft, kinds, kind) },
    ...{ position: roomy.position, more: {} },
  };
  const nodes = insertedAfter(roomy.draft.nodes, source, node);
  const next: Draft = { ...roomy.draft, nodes };
  if (edge) {
    const redirected = next.edges.map((one) => (one.id === edge.id ? { ...one, target: id } : one));
    const between = { ...next, edges: redirected };
    if (where.onward === undefined) return [between, id];
    return [withEdge(between, { source: id, target: edge.target, exit: where.onward }), id];
  }
  if (!where.from) return [next, id];
  return [withEdge(next, { source: where.from.id, target: id, exit: where.from.exit }), id];
}

/** Lists of steps have a new one behind the one that leads to it. */
function insertedAfter(nodes: readonly DraftNode[], source: string | undefined, node: DraftNode): DraftNode[] {
  const index = nodes.findIndex(({ id }) => id === source);
  return index < 0 ? [...nodes, node] : nodes.toSpliced(index + 1, 0, node);
}

/** The position of a new step; undefined in a graph that the layout draws. */
function withRoom(
  draft: Draft,
  kinds: Kinds,
  { source, at }: { source: string | undefined; at: Point | undefined },
): { draft: Draft; position: Point | undefined } {
  if (at) return { draft: arranged(draft, kinds), position: at };
  if (!draft.nodes.some(({ position }) => position)) return { draft, position: undefined };
  const { flow, positions } = layoutOf(draft, bodiesOf(draft, kinds));
  const isRight = flow === 'right';
  const [along, across, step, breadth] = isRight
    ? (['x', 'y', COLUMN, HEIGHT] as const)
    : (['y', 'x', ROW, WIDTH] as const);
  const before = positions.get(source ?? '') ?? endOf(positions, along);
  const onward = (point: Point) => ({ ...point, [along]: point[along] + step });
  const nodes = arranged(draft, kinds).nodes.map((one) => {
    const own = one.position;
    const isBeyond = own && own[along] > before[along] && Math.abs(own[across] - before[across]) < breadth;
    return isBeyond ? { ...one, position: onward(own) } : one;
  });
  return { draft: { ...draft, nodes }, position: onward(before) };
}

function endOf(positions: ReadonlyMap<string, Point>, along: 'x' | 'y'): Point {
  const [last] = [...positions.values()].toSorted((one, other) => other[along] - one[along]);
  return last ?? { x: 0, y: 0 };
}

/** Every step where it is drawn now, so that others do not move when one does. */
export function arranged(draft: Draft, kinds: Kinds): Draft {
  if (draft.nodes.every(({ position }) => position)) return draft;
  const { positions } = layoutOf(draft, bodiesOf(draft, kinds));
  return { ...draft, nodes: draft.nodes.map((node) => ({ ...node, position: positions.get(node.id) })) };
}

export function withPositions(draft: Draft, kinds: Kinds, moved: ReadonlyMap<string, Point>): Draft {
  if (!draft.nodes.some(({ id }) => moved.has(id))) return draft;
  const { nodes, ...others } = arranged(draft, kinds);
  return { ...others, nodes: nodes.map((node) => ({ ...node, position: moved.get(node.id) ?? node.position })) };
}

/** The layout draws all steps again. */
export function tidied(draft: Draft): Draft {
  if (draft.nodes.every(({ position }) => !position)) return draft;
  return { ...draft, nodes: draft.nodes.map((node) => ({ ...node, position: undefined })) };
}

/**
 * Removes steps, those that begin runs left out; a step that repeats a body with its body. The ways that led to a step lead on to the
 * step behind it, if there is one alone behind exits without errors.
 */
export function withoutSteps(draft: Draft, kinds: Kinds, ids: Iterable<string>): Draft {
  const given = new Set(ids);
  const chosen = draft.nodes.filter(({ id, type }) => given.has(id) && !kinds[type]?.begins);
  return chosen.reduce((left, { id }) => withoutStep(left, kinds, id), draft);
}

function withoutStep(draft: Draft, kinds: Kinds, id: string): Draft {
  const node = draft.nodes.find((one) => one.id === id);
  if (!node) return draft;
  const bodies = bodiesOf(draft, kinds);
  const removed = new Set(withBody(id, bodies));
  const kind = kinds[node.type];
  const onward = new Set(onwardExits(kind, node.data).map((exit) => exit.id));
  const behind = draft.edges.flatMap((edge) => {
    const exit = exitOfEdge(kind, node.data, edge.sourceHandle);
    return edge.source === id && exit !== undefined && onward.has(exit) ? edge.target : [];
  });
  const [target, ...others] = [...new Set(behind)].filter((one) => !removed.has(one));
  const edges = draft.edges.flatMap((edge) => {
    if (removed.has(edge.source)) return [];
    if (!removed.has(edge.target)) return [edge];
    const leadsOn = edge.target === id && target !== undefined && others.length === 0 && target !== edge.source;
    const isThere = draft.edges.some(
      (one) => one.source === edge.source && one.target === target && one.sourceHandle === edge.sourceHandle,
    );
    return leadsOn && !isThere ? [{ ...edge, target }] : [];
  });
  return { ...draft, nodes: draft.nodes.filter((one) => !removed.has(one.id)), edges };
}

export function withDisabled(draft: Draft, ids: ReadonlySet<string>, isDisabled: boolean): Draft {
  const nodes = draft.nodes.map((node) => {
    if (!ids.has(node.id)) return node;
    const { isDisabled: _, ...data } = node.data;
    return { ...node, data: isDisabled ? { ...data, isDisabled } : data };
  });
  return { ...draft, nodes };
}

/** The config of a new step: its title and the name of its result are those of no other step. */
export function asNew(
  { nodes }: Pick<Draft, 'nodes'>,
  kinds: Kinds,
  kind: Kind | undefined,
  data = (kind?.defaultValue ?? {}) as Config,
): Config {
  const unique = (own: unknown, used: readonly unknown[], join: string) =>
    typeof own === 'string' ? firstFree(used, (number) => (number === 1 ? own : `${own}${join}${number}`)) : undefined;
  const title = unique(
    data.title,
    nodes.map((node) => node.data.title),
    ' ',
  );
  const results = nodes.map((node) => resultName(kinds[node.type], node.data));
  const outputVariable = unique(resultName(kind, data), results, '');
  return { ...data, ...(title !== undefined && { title }), ...(outputVariable !== undefined && { outputVariable }) };
}

/** Changes the config of a step. Edges follow an exit that is given another name. */
export function reconfigured(draft: Draft, kinds: Kinds, id: string, data: Config): Draft {
  const next = withConfig(draft, id, data);
  const node = draft.nodes.find((one) => one.id === id);
  if (!node) return next;
  const kind = kinds[node.type];
  const [before, after] = [exitsOf(kind, node.data), exitsOf(kind, data)];
  const renamed = before.flatMap((exit, index) => (exit.id === after[index]?.id ? [] : [[exit.id, after[index]?.id]]));
  const [from, to] = renamed[0] ?? [];
  const isRename = before.length === after.length && renamed.length === 1 && to !== undefined;
  if (!isRename || before.some((exit) => exit.id === to)) return next;
  const edges = next.edges.map((edge) =>
    edge.source === id && edge.sourceHandle === from ? { ...edge, sourceHandle: to } : edge,
  );
  return { ...next, edges };
}
