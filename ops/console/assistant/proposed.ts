import { type Config, type Draft, type DraftNode, freeEdgeID, withOptions } from '../editor/draft.ts';
import { arranged } from '../editor/edits.ts';
import { fieldOfStep } from '../editor/field-names.ts';
import { type Change, changesOf, type FieldChange } from '../editor/version-changes.ts';
import { exitOfEdge } from '../graph/exits.ts';
import { type Kinds, wordsOf } from '../graph/kinds.ts';
import { isObject } from '../ui/is-object.ts';

interface Connection {
  source: string;
  target: string;
  sourceHandle?: string;
}

/** A change of a workflow as the API has checked its form. */
export interface WorkflowChange {
  workflowID: string | null;
  title?: string;
  summary: string;
  steps: readonly { id: string; type: string; data: Config }[];
  removedSteps: readonly string[];
  connections: readonly Connection[];
  removedConnections: readonly Connection[];
  options?: Config;
}

/** Undefined if it was cut, or comes from a version that knew other fields. */
export function workflowChangeIn(output: Readonly<Record<string, unknown>>): WorkflowChange | undefined {
  const { workflowID, summary, steps, removedSteps, connections, removedConnections } = output;
  const lists = [steps, removedSteps, connections, removedConnections];
  const isWhole = typeof summary === 'string' && lists.every(Array.isArray);
  // Safe: the API has parsed the rest.
  return isWhole && (workflowID === null || typeof workflowID === 'string')
    ? (output as unknown as WorkflowChange)
    : undefined;
}

const noSteps: Draft = { nodes: [], edges: [], notes: [], options: {} };
const start: DraftNode = { id: 'start', type: 'start', data: { title: 'Start' }, position: undefined, more: {} };

/** The graph that a new workflow begins with: a first step, unless the model has written one. */
export function newDraft({ steps }: Pick<WorkflowChange, 'steps'>): Draft {
  return steps.some(({ type }) => type === start.type) ? noSteps : { ...noSteps, nodes: [start] };
}

/** The draft with the change in it; its notes, positions and other steps stay. */
export function withChange(draft: Draft, kinds: Kinds, change: WorkflowChange): Draft {
  const given = new Map(change.steps.map((step) => [step.id, step]));
  const removed = new Set(change.removedSteps);
  const remaining = draft.nodes.filter(({ id }) => !removed.has(id));
  const changed = remaining.map((node): DraftNode => {
    const next = given.get(node.id);
    return next ? { ...node, type: next.type, data: shownAgain(next.data, node.data) as Config } : node;
  });
  const known = new Set(remaining.map(({ id }) => id));
  const added = change.steps
    .filter(({ id }) => !known.has(id))
    .map(({ id, type, data }): DraftNode => ({ id, type, data, position: undefined, more: {} }));
  const nodes = [...changed, ...added];
  const kindOf = new Map(nodes.map((node) => [node.id, node]));
  const exitOf = (source: string, handle: string | null | undefined) => {
    const node = kindOf.get(source);
    return node ? exitOfEdge(kinds[node.type], node.data, handle ?? null) : undefined;
  };
  const isSame = (edge: { source: string; target: string; sourceHandle: string | null }, other: Connection) =>
    edge.source === other.source &&
    edge.target === other.target &&
    exitOf(edge.source, edge.sourceHandle) === exitOf(other.source, other.sourceHandle);
  const edges = draft.edges.filter(
    (edge) =>
      !removed.has(edge.source) &&
      !removed.has(edge.target) &&
      !change.removedConnections.some((one) =>
        one.sourceHandle === undefined ? one.source === edge.source && one.target === edge.target : isSame(edge, one),
      ),
  );
  for (const one of change.connections) {
    if (edges.some((edge) => isSame(edge, one))) continue;
    const id = freeEdgeID({ edges: [...draft.edges, ...edges] });
    edges.push({ id, source: one.source, target: one.target, sourceHandle: one.sourceHandle ?? null, more: {} });
  }
  const cleared = Object.entries(change.options ?? {}).map(([name, value]) => [name, value ?? undefined]);
  const next = withOptions({ ...draft, nodes, edges }, Object.fromEntries(cleared));
  // Where a person has arranged the graph, a new step gets a place beside the others.
  return added.length > 0 && draft.nodes.some(({ position }) => position) ? arranged(next, kinds) : next;
}

const REDACTED = '[REDACTED]';

/** The value with what the model could not see as it was. */
function shownAgain(next: unknown, before: unknown): unknown {
  if (typeof next === 'string') return next.includes(REDACTED) && typeof before === 'string' ? before : next;
  if (Array.isArray(next))
    return next.map((value, index) => shownAgain(value, Array.isArray(before) ? before[index] : undefined));
  if (!isObject(next)) return next;
  const old = isObject(before) ? before : {};
  return Object.fromEntries(Object.entries(next).map(([name, value]) => [name, shownAgain(value, old[name])]));
}

/** The differences between two drafts: steps, connections and options, field by field. */
export function differences(before: Draft, after: Draft, kinds: Kinds): Change[] {
  const [old, now] = [versionOf(before), versionOf(after)];
  const diff = {
    nodes: listDiff(old.workflowNodes, now.workflowNodes),
    edges: listDiff(old.workflowEdges, now.workflowEdges),
    options: pathsOf(old.workflowOptions, now.workflowOptions, [], 1),
  };
  const kindOf = new Map([...before.nodes, ...after.nodes].map((node) => [node.id, node.type]));
  return changesOf(diff as Parameters<typeof changesOf>[0], old, now, kinds)
    .filter(({ verb }) => verb !== 'moved')
    .map((change) => {
      const id = change.key.replace('Step ', '');
      const type = change.what === 'Step' ? kindOf.get(id) : undefined;
      const name = type === undefined ? change.name : `${change.name}, ${wordsOf(type, kinds[type]).word}`;
      const added =
        change.verb === 'added' && type !== undefined ? after.nodes.find((node) => node.id === id) : undefined;
      return { ...change, name, fields: added ? fieldsOf(added.data, kinds[added.type]) : change.fields };
    });
}

function fieldsOf(data: Config, kind: Kinds[string] | undefined): FieldChange[] {
  return Object.entries(data)
    .filter(([field]) => field !== 'title')
    .map(([field, to]) => ({ field: fieldOfStep(['data', field], kind), from: undefined, to }));
}

function versionOf({ nodes, edges, options }: Draft) {
  return {
    workflowNodes: nodes.map(({ id, type, data }) => ({ id, type, data })),
    workflowEdges: edges.map(({ id, source, target, sourceHandle }) => ({ id, source, target, sourceHandle })),
    workflowOptions: options,
  };
}

type Part = Readonly<Record<string, unknown>>;
type Path = (string | number)[];

function listDiff(before: readonly Part[], after: readonly Part[]) {
  const [old, now] = [before, after].map((parts) => new Map(parts.map((part) => [part.id, part])));
  return {
    added: after.filter(({ id }) => !old?.has(id)),
    removed: before.filter(({ id }) => !now?.has(id)),
    changed: after.flatMap((part) => {
      const paths = old?.has(part.id) ? pathsOf(old.get(part.id), part, []) : [];
      return paths.length > 0 ? [{ id: part.id, paths }] : [];
    }),
  };
}

/**
 * Where two values differ, at most so many names deep. Lists of the same length are told item by item; of others, what
 * belongs to what is not known.
 */
function pathsOf(before: unknown, after: unknown, path: Path, deepest = 4): Path[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (isNested(before) && isNested(after) && before.length === after.length)
    return after.flatMap((item, index) => pathsOf(before[index], item, [...path, index], deepest));
  const isWhole = !isObject(before) || !isObject(after) || path.filter(isName).length >= deepest;
  if (isWhole) return [path];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => pathsOf(before[name], after[name], [...path, name], deepest));
}

const isName = (key: string | number) => typeof key === 'string';

/** Lists of plain values are short enough to be read as a whole. */
function isNested(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.some((item) => typeof item === 'object' && item !== null);
}
