import type { JsonObject } from '../../core/json.ts';
import { changedPaths, type Path, pathBudget } from './changed-paths.ts';

interface Versioned {
  nodes: readonly JsonObject[];
  edges: readonly JsonObject[];
  options: JsonObject;
}

export interface GraphDiff {
  nodes: ListDiff;
  edges: ListDiff;
  /** Paths inside the options. */
  options: Path[];
}

export interface ListDiff {
  added: JsonObject[];
  removed: JsonObject[];
  changed: { id: string; paths: Path[] }[];
}

/** How one graph differs from an earlier one. Nodes and edges are matched by their ids. */
export function diffGraphs(before: Versioned, after: Versioned): GraphDiff {
  const budget = pathBudget();
  return {
    nodes: diffLists(before.nodes, after.nodes, budget),
    edges: diffLists(before.edges, after.edges, budget),
    options: changedPaths(withoutCanvas(before.options), withoutCanvas(after.options), budget),
  };
}

/** Options without those that only editors read. */
function withoutCanvas({ canvas: _, ...options }: JsonObject): JsonObject {
  return options;
}

/** The paths of what differs between two values. */
export function diffValues(before: JsonObject, after: JsonObject): Path[] {
  return changedPaths(before, after, pathBudget());
}

function diffLists(
  before: readonly JsonObject[],
  after: readonly JsonObject[],
  budget: { characters: number },
): ListDiff {
  const old = byID(before);
  const next = byID(after);
  const added = [...next].filter(([id]) => !old.has(id)).map(([, item]) => item);
  const removed = [...old].filter(([id]) => !next.has(id)).map(([, item]) => item);
  const changed = [...next].flatMap(([id, item]) => {
    const earlier = old.get(id);
    const paths = earlier ? changedPaths(earlier, item, budget) : [];
    return paths.length > 0 ? [{ id, paths }] : [];
  });
  return { added, removed, changed };
}

function byID(items: readonly JsonObject[]): ReadonlyMap<string, JsonObject> {
  return new Map(items.map((item) => [String(item.id), item]));
}
