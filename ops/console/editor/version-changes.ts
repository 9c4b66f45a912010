import { structuredPatch } from 'diff';
import type { Schemas } from '../client/types.ts';
import type { Kinds } from '../graph/kinds.ts';
import { fieldOfOptions, fieldOfStep } from './field-names.ts';

type Version = Pick<Schemas['WorkflowVersion'], 'workflowNodes' | 'workflowEdges' | 'workflowOptions'>;
type Diff = Pick<Schemas['WorkflowVersionDiff'], 'nodes' | 'edges' | 'options'>;
type Path = readonly (string | number)[];

/** A field of a part of a workflow, before and after; undefined where it is not there. */
export interface FieldChange {
  field: string;
  from: unknown;
  to: unknown;
}

/** A part of a workflow that differs between two versions. */
export interface Change {
  key: string;
  what: 'Step' | 'Connection' | 'Options';
  name: string;
  verb: 'added' | 'removed' | 'changed' | 'moved';
  fields: FieldChange[];
}

const empty: Version = { workflowNodes: [], workflowEdges: [], workflowOptions: {} };

/** The API tells which fields differ; what they were and are, the two versions have, and what they are called, the kinds of steps. */
export function changesOf(diff: Diff, before: Version | undefined, after: Version, kinds: Kinds): Change[] {
  const old = before ?? empty;
  const nameIn = ({ workflowNodes }: Version) => {
    const names = new Map(workflowNodes.map((node) => [String(node.id), titleOf(node)]));
    return (id: unknown) => names.get(String(id)) ?? String(id);
  };
  const options = diff.options.map((path) =>
    changeAt(path, { field: fieldOfOptions(path), from: old.workflowOptions, to: after.workflowOptions }),
  );
  return [
    ...listChanges(diff.nodes, {
      ...{ what: 'Step', before: old.workflowNodes, after: after.workflowNodes },
      nameOf: (node) => titleOf(node),
      isLeftOut: ([first]) => positionFields.has(first),
      fieldOf: (path, { type }) => fieldOfStep(path, kinds[String(type)]),
    }),
    ...listChanges(diff.edges, {
      ...{ what: 'Connection', before: old.workflowEdges, after: after.workflowEdges },
      nameOf: (edge, side) => wayOf(edge, nameIn(side === 'before' ? old : after)),
      // The names tell them.
      isLeftOut: ([first]) => ofWay.has(first),
      fieldOf: (path) => fieldOfStep(path, undefined),
    }),
    ...(options.length > 0
      ? [{ key: 'options', what: 'Options', name: 'of the workflow', verb: 'changed', fields: options } as const]
      : []),
  ];
}

type Part = Readonly<Record<string, unknown>>;

interface Lists {
  what: Change['what'];
  before: readonly Part[];
  after: readonly Part[];
  nameOf(part: Part, side: 'before' | 'after'): string;
  /** Differences that are not shown field by field. */
  isLeftOut(path: Path): boolean;
  fieldOf(path: Path, part: Part): string;
}

function listChanges(
  { added, removed, changed }: Diff['nodes'],
  { what, before, after, nameOf, isLeftOut, fieldOf }: Lists,
): Change[] {
  const byID = (parts: readonly Part[]) => new Map(parts.map((part) => [String(part.id), part]));
  const [old, now] = [byID(before), byID(after)];
  const keyOf = (id: unknown) => `${what} ${String(id)}`;
  return [
    ...changed.map(({ id, paths }): Change => {
      const [from = {}, to = {}] = [old.get(id), now.get(id)];
      const [was, name] = [nameOf(from, 'before'), nameOf(to, 'after')];
      const way = what === 'Connection' && was !== name ? [{ field: 'From and to', from: was, to: name }] : [];
      const others = paths.filter((path) => !isLeftOut(path) && path[0] !== PINNED);
      const fields = [
        ...way,
        ...others.map((path) => changeAt(path, { field: fieldOf(path, to), from, to })),
        ...pinChange(paths, from, to),
      ];
      return { key: keyOf(id), what, name, verb: fields.length > 0 ? 'changed' : 'moved', fields };
    }),
    ...added.map((part): Change => {
      return { key: keyOf(part.id), what, name: nameOf(part, 'after'), verb: 'added', fields: [] };
    }),
    ...removed.map((part): Change => {
      return { key: keyOf(part.id), what, name: nameOf(part, 'before'), verb: 'removed', fields: [] };
    }),
  ];
}

/** The field of a step with the result that tests take for it. */
const PINNED = 'pinned';

/** A pinned result is told as a whole: it may have thousands of parts. */
function pinChange(paths: readonly Path[], from: Part, to: Part): FieldChange[] {
  if (!paths.some(([first]) => first === PINNED)) return [];
  return [{ field: 'Result for tests', from: valueAt(from, [PINNED, 'output']), to: valueAt(to, [PINNED, 'output']) }];
}

/** Fields in which an editor notes where a node is drawn. */
const positionFields: ReadonlySet<unknown> = new Set(['position', 'positionAbsolute', 'width', 'height', 'measured']);

const ofWay: ReadonlySet<unknown> = new Set(['source', 'target', 'sourceHandle', 'targetHandle']);

function changeAt(path: Path, { field, from, to }: FieldChange): FieldChange {
  return { field, from: valueAt(from, path), to: valueAt(to, path) };
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((part, key) => {
    const isThere = typeof part === 'object' && part !== null && Object.hasOwn(part, key);
    return isThere ? (part as Record<string | number, unknown>)[key] : undefined;
  }, value);
}

function titleOf({ id, data }: Part): string {
  const title = valueAt(data, ['title']);
  return typeof title === 'string' && title !== '' ? title : String(id);
}

function wayOf({ source, target, sourceHandle }: Part, nameOf: (id: unknown) => string): string {
  const exit = typeof sourceHandle === 'string' && sourceHandle !== '' ? ` by “${sourceHandle}”` : '';
  return `${nameOf(source)} → ${nameOf(target)}${exit}`;
}

/** Texts that differ more are shown by their beginnings. */
const MAX_DIFFERENCES = 500;
const MAX_LINES = 200;
const AROUND = 2;

/** How a text of several lines differs: lines that begin with `+`, `-` or a space, `…` between them; undefined for others. */
export function linesOf({ from, to }: Pick<FieldChange, 'from' | 'to'>): string[] | undefined {
  if (typeof from !== 'string' || typeof to !== 'string' || !`${from}${to}`.includes('\n')) return undefined;
  const patch = structuredPatch('', '', from, to, '', '', { context: AROUND, maxEditLength: MAX_DIFFERENCES });
  const lines = patch?.hunks.flatMap(({ lines: own }, index) => (index === 0 ? own : ['…', ...own]));
  const shown = lines?.filter((line) => !line.startsWith('\\'));
  if (!shown || shown.length <= MAX_LINES) return shown;
  return [...shown.slice(0, MAX_LINES), '…'];
}
