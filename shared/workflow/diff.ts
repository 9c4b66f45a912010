import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type Json, type JsonObject } from '../json.ts';

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

type Path = (string | number)[];

/** How one graph differs from an earlier one. Nodes and edges are told apart by their ids. */
export function diffGraphs(before: Versioned, after: Versioned): GraphDiff {
  return {
    nodes: diffLists(before.nodes, after.nodes),
    edges: diffLists(before.edges, after.edges),
    options: changedPaths(before.options, after.options),
  };
}

function diffLists(before: readonly JsonObject[], after: readonly JsonObject[]): ListDiff {
  const old = byID(before);
  const next = byID(after);
  const added = [...next].filter(([id]) => !old.has(id)).map(([, item]) => item);
  const removed = [...old].filter(([id]) => !next.has(id)).map(([, item]) => item);
  const changed = [...next].flatMap(([id, item]) => {
    const was = old.get(id);
    const paths = was ? changedPaths(was, item) : [];
    return paths.length > 0 ? [{ id, paths }] : [];
  });
  return { added, removed, changed };
}

function byID(items: readonly JsonObject[]): ReadonlyMap<string, JsonObject> {
  return new Map(items.map((item) => [String(item.id), item]));
}

/** A path ends here at the latest, so that the paths of one deep value cannot be longer than the value. */
const MAX_DEPTH = 12;

/** The paths of values that were added, removed or changed, each as deep as the difference. */
function changedPaths(before: Json, after: Json): Path[] {
  const found: Path[] = [];
  compare(before, after, []);
  return found;

  function compare(one: Json | undefined, other: Json | undefined, path: Path): void {
    if (isDeepStrictEqual(one, other)) return;
    const keys = path.length < MAX_DEPTH ? keysOf(one, other) : undefined;
    if (!keys) found.push(path);
    else for (const key of keys) compare(at(one, key), at(other, key), [...path, key]);
  }
}

/** Of two objects, or of two lists of one length; values of other kinds are compared as a whole. */
function keysOf(one: Json | undefined, other: Json | undefined): Path | undefined {
  if (Array.isArray(one) && Array.isArray(other)) return one.length === other.length ? [...one.keys()] : undefined;
  if (!isJsonObject(one) || !isJsonObject(other)) return undefined;
  return [...new Set([...Object.keys(one), ...Object.keys(other)])];
}

function at(value: Json | undefined, key: string | number): Json | undefined {
  if (Array.isArray(value)) return typeof key === 'number' ? value[key] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
