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
  const budget = { characters: MAX_CHARACTERS };
  return {
    nodes: diffLists(before.nodes, after.nodes, budget),
    edges: diffLists(before.edges, after.edges, budget),
    options: changedPaths(before.options, after.options, budget),
  };
}

/** The paths of what differs between two values. */
export function diffValues(before: JsonObject, after: JsonObject): Path[] {
  return changedPaths(before, after, { characters: MAX_CHARACTERS });
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
    const was = old.get(id);
    const paths = was ? changedPaths(was, item, budget) : [];
    return paths.length > 0 ? [{ id, paths }] : [];
  });
  return { added, removed, changed };
}

function byID(items: readonly JsonObject[]): ReadonlyMap<string, JsonObject> {
  return new Map(items.map((item) => [String(item.id), item]));
}

/** A path ends here at the latest, so that the paths of one deep value cannot be longer than the value. */
const MAX_DEPTH = 12;
/** A value in which more differs is named itself. */
const MAX_PATHS = 100;
/** Once the paths of a graph have this many characters, further nodes, edges or options are named without paths inside them. */
const MAX_CHARACTERS = 500_000;

/** The paths of values that were added, removed or changed, each as deep as the difference. Compares every value once. */
function changedPaths(before: Json, after: Json, budget: { characters: number }): Path[] {
  const found: Path[] = [];
  const path: Path = [];
  compare(before, after);
  return found;

  function compare(one: Json | undefined, other: Json | undefined): void {
    if (one === other) return;
    const keys = path.length < MAX_DEPTH ? keysOf(one, other) : undefined;
    if (keys) compareParts(one, other, keys);
    else if (!isDeepStrictEqual(one, other)) note();
  }

  function compareParts(one: Json | undefined, other: Json | undefined, keys: Iterable<string | number>): void {
    const start = found.length;
    for (const key of keys) {
      path.push(key);
      compare(at(one, key), at(other, key));
      path.pop();
      const count = found.length - start;
      if (count <= MAX_PATHS && (count === 0 || budget.characters >= 0)) continue;
      found.length = start;
      note();
      return;
    }
  }

  function note(): void {
    budget.characters -= path.reduce<number>((sum, key) => sum + String(key).length, 0);
    found.push([...path]);
  }
}

/** Of two objects, or of two lists of one length; values of other kinds are compared as a whole. */
function keysOf(one: Json | undefined, other: Json | undefined): Iterable<string | number> | undefined {
  if (Array.isArray(one) && Array.isArray(other)) return one.length === other.length ? one.keys() : undefined;
  if (!isJsonObject(one) || !isJsonObject(other)) return undefined;
  const added = Object.keys(other).filter((key) => !Object.hasOwn(one, key));
  return added.length > 0 ? [...Object.keys(one), ...added] : Object.keys(one);
}

function at(value: Json | undefined, key: string | number): Json | undefined {
  if (Array.isArray(value)) return typeof key === 'number' ? value[key] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
