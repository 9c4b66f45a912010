import type { Issue, Schemas } from '../client/types.ts';
import { type Point, pointIn } from '../graph/shown.ts';
import { isObject } from '../ui/is-object.ts';
import { unresolvedFaults } from '../ui/schema-value.ts';

export type Config = Readonly<Record<string, unknown>>;

export interface DraftNode {
  id: string;
  type: string;
  data: Config;
  /** Undefined: the layout places it. As soon as a person moves one node, all have positions. */
  position: Point | undefined;
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

/** A text beside the steps, for readers. */
export interface Note {
  id: string;
  text: string;
  position: Point;
  width: number;
  height: number;
}

/** A graph while it is edited. */
export interface Draft {
  nodes: readonly DraftNode[];
  edges: readonly DraftEdge[];
  notes: readonly Note[];
  /** The options of the workflow. Its notes are those above. */
  options: Config;
}

interface Saved {
  workflowNodes: readonly object[];
  workflowEdges: readonly object[];
  workflowOptions?: object;
}

export function draftOf({ workflowNodes, workflowEdges, workflowOptions }: Saved): Draft {
  const edges = workflowEdges.map((edge): DraftEdge => {
    const { id, source, target, sourceHandle, ...more } = edge as Record<string, unknown>;
    const handle = typeof sourceHandle === 'string' ? sourceHandle : null;
    return { id: String(id), source: String(source), target: String(target), sourceHandle: handle, more };
  });
  const nodes = workflowNodes.map((node): DraftNode => {
    const { id, type, data, position, ...more } = node as Record<string, unknown>;
    const config = isObject(data) ? data : {};
    return { id: String(id), type: String(type), data: config, position: pointIn(position), more };
  });
  return { nodes, edges, notes: notesIn(workflowOptions), options: (workflowOptions ?? {}) as Config };
}

/** The options as they are saved, with the notes. */
export function optionsOf({ options, notes }: Draft): Config {
  if (JSON.stringify(notesIn(options)) === JSON.stringify(notes)) return options;
  return { ...options, canvas: { ...(isObject(options.canvas) && options.canvas), notes } };
}

/** The same draft with other options; an undefined one is left out. */
export function withOptions(draft: Draft, change: Config): Draft {
  const options = Object.entries({ ...draft.options, ...change }).filter(([, value]) => value !== undefined);
  return { ...draft, options: Object.fromEntries(options) };
}

function notesIn(workflowOptions: object | undefined): Note[] {
  const { canvas } = (workflowOptions ?? {}) as { canvas?: unknown };
  const notes: unknown[] = isObject(canvas) && Array.isArray(canvas.notes) ? canvas.notes : [];
  return notes.flatMap((note) => {
    if (!isObject(note)) return [];
    const { id, text, width, height } = note;
    const position = pointIn(note.position);
    const size = { width: Number(width) || NOTE.width, height: Number(height) || NOTE.height };
    return position ? [{ id: String(id), text: String(text ?? ''), position, ...size }] : [];
  });
}

/** The size of a new note. */
export const NOTE = { width: 220, height: 120 };

/** As it is saved. */
export function bodyOf({ nodes, edges }: Pick<Draft, 'nodes' | 'edges'>) {
  return {
    workflowNodes: nodes.map(({ more, position, ...node }) => ({ ...more, ...node, ...(position && { position }) })),
    workflowEdges: edges.map(({ more, sourceHandle, ...edge }) => ({
      ...more,
      ...edge,
      ...(sourceHandle !== null && { sourceHandle }),
    })),
  } as Required<Pick<Schemas['WorkflowTest'], 'workflowNodes' | 'workflowEdges'>>;
}

/** A part of a graph as a test sends it. */
export function partBody({ nodes, edges }: { nodes: readonly Step[]; edges: readonly DraftEdge[] }) {
  return bodyOf({ nodes: nodes.map((node) => ({ position: undefined, ...node })), edges });
}

type Step = Omit<DraftNode, 'position'> & Partial<Pick<DraftNode, 'position'>>;

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
  if (isThere) return draft;
  const edge: DraftEdge = { id: freeEdgeID(draft), source, target, sourceHandle: exit, more: {} };
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

/** The name of a step, or its id if there is no such step. */
export function nameIn({ nodes }: Draft, id: string): string {
  const node = nodes.find((one) => one.id === id);
  return node ? nameOf(node) : id;
}

/** Messages by step and, in it, by field. */
export type Faults = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Faults of what was sent by node and, in it, by field; those of no node are under the empty name. A node that differs now has none. */
export function faultsOf(issues: readonly Issue[], sent: Draft, now: Draft): Faults {
  const faults = new Map<string, Map<string, string>>();
  const ofGraph = issues.filter(({ path: [field] }) => field !== 'workflowOptions');
  for (const { path, message } of ofGraph) {
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

/** Faults of the options that were sent, by dotted paths; those of options that differ now are left out. */
export function optionFaultsOf(issues: readonly Issue[], sent: Draft, now: Draft): ReadonlyMap<string, string> {
  const ofOptions = issues.filter(({ path: [field] }) => field === 'workflowOptions');
  const faults = new Map(ofOptions.map(({ path, message }) => [path.slice(1).join('.'), message]));
  return unresolvedFaults(faults, sent.options, now.options);
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

export function freeID({ nodes }: Pick<Draft, 'nodes'>, type: string): string {
  return firstFree(
    nodes.map(({ id }) => id),
    (number) => (number === 1 ? type : `${type}${number}`),
  );
}

export function freeEdgeID({ edges }: Pick<Draft, 'edges'>): string {
  const ids = edges.map(({ id }) => id);
  return firstFree(ids, (number) => `edge-${number}`, edges.length + 1);
}

/** The first name that is not taken, of those that numbers give. */
export function firstFree(taken: Iterable<unknown>, named: (number: number) => string, from = 1): string {
  const names = new Set(taken);
  let number = from;
  while (names.has(named(number))) number += 1;
  return named(number);
}
