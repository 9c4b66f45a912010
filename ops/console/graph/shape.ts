import { divide } from '#shared/workflow/graph/regions.ts';
import { exitOfEdge, exitsOf } from './exits.ts';
import type { Kinds } from './kinds.ts';
import type { ShownGraph } from './shown.ts';

/** Which steps lie in the body of which, as the engine divides a graph. */
export interface Bodies {
  /** The step that repeats a step; undefined for those in no body. */
  containerOf: ReadonlyMap<string, string>;
  /** The steps that have a body, also an empty one, each with the steps that lie in it directly. */
  containers: ReadonlyMap<string, readonly string[]>;
  /** Ids of the edges by which a body ends. */
  returns: ReadonlySet<string>;
  /** Ids of the edges that the API refuses: they lead into a body from outside of it, or out of one. */
  strays: ReadonlySet<string>;
  /** The number of the exit of an edge among those of its step, by the id of the edge. */
  exitOrder: ReadonlyMap<string, number>;
}

/** The edges of a graph between steps that are there, by the numbers of the steps, as `divide` takes them. */
function linksOf({ nodes, edges }: ShownGraph, kinds: Kinds) {
  const indexOf = new Map(nodes.map(({ id }, index) => [id, index]));
  const known = edges.filter(({ source, target }) => indexOf.has(source) && indexOf.has(target));
  const links = known.map(({ source, target, sourceHandle }, index) => {
    const at = indexOf.get(source) ?? 0;
    const { type = '', data = {} } = nodes[at] ?? {};
    const exit = exitOfEdge(kinds[type], data, sourceHandle) ?? '';
    return { index, source: at, target: indexOf.get(target) ?? 0, exit };
  });
  const bodyOf = (index: number) => kinds[nodes[index]?.type ?? '']?.bodyExit ?? undefined;
  return { indexOf, known, links, bodyOf };
}

export function bodiesOf(graph: ShownGraph, kinds: Kinds): Bodies {
  const { nodes } = graph;
  const { known, links, bodyOf } = linksOf(graph, kinds);
  const { regions, regionOf, returns, strays } = divide(nodes.length, links, bodyOf);
  const nameOf = (index: number | null | undefined) => nodes[index ?? -1]?.id;
  const containerOf = new Map<string, string>();
  const containers = new Map<string, string[]>();
  for (const [index, { id }] of nodes.entries()) {
    if (bodyOf(index) !== undefined && !containers.has(id)) containers.set(id, []);
    const container = nameOf(regions[regionOf[index] ?? 0]?.container);
    if (container === undefined) continue;
    containerOf.set(id, container);
    containers.set(container, [...(containers.get(container) ?? []), id]);
  }
  const idOf = (index: number) => known[index]?.id ?? '';
  const exitOrder = new Map(
    links.map(({ index, source, exit }) => {
      const { type = '', data = {} } = nodes[source] ?? {};
      return [idOf(index), exitsOf(kinds[type], data).findIndex(({ id }) => id === exit)] as const;
    }),
  );
  const idsOf = (indices: Iterable<number>) => new Set([...indices].map(idOf));
  return { containerOf, containers, returns: idsOf(returns), strays: idsOf(strays), exitOrder };
}

/** The steps that repeat a step, the innermost first. */
export function bodiesAround(id: string, { containerOf }: Pick<Bodies, 'containerOf'>): string[] {
  const found: string[] = [];
  for (let one = containerOf.get(id); one !== undefined && !found.includes(one); one = containerOf.get(one))
    found.push(one);
  return found;
}

/** A step with all that lies in its body, also in bodies in that. */
export function withBody(id: string, { containers }: Bodies): string[] {
  const found = new Set([id]);
  // The loop over the Set also visits steps that are added meanwhile.
  for (const one of found) for (const inner of containers.get(one) ?? []) found.add(inner);
  return [...found];
}

interface Connection {
  source: string;
  target: string;
  exit: string;
}

/** Whether the API would accept one more edge. What is refused already does not count. */
export function mayConnect(graph: ShownGraph, kinds: Kinds, connection: Connection): boolean {
  return connectionsOf(graph, kinds)(connection);
}

/** The same for several edges, for which the graph is read once. */
export function connectionsOf(graph: ShownGraph, kinds: Kinds): (connection: Connection) => boolean {
  const { nodes } = graph;
  const { indexOf, links, bodyOf } = linksOf(graph, kinds);
  const refused = new Set(divide(nodes.length, links, bodyOf).strays);
  return (connection) => {
    const [source, target] = [indexOf.get(connection.source) ?? -1, indexOf.get(connection.target) ?? -1];
    const [from, to] = [nodes[source], nodes[target]];
    if (!from || !to || kinds[to.type]?.begins || kinds[from.type]?.exits.length === 0) return false;
    const exit = exitOfEdge(kinds[from.type], from.data, connection.exit);
    if (exit === undefined) return false;
    if (links.some((link) => link.source === source && link.target === target && link.exit === exit)) return false;
    const added = { index: links.length, source, target, exit };
    const all = [...links, added];
    const { strays, returns } = divide(nodes.length, all, bodyOf);
    if (strays.some((index) => !refused.has(index))) return false;
    if (returns.has(added.index)) return true;
    const onward = all.filter(({ index }) => !returns.has(index));
    return source !== target && !isReached(onward, { from: target, to: source });
  };
}

interface Link {
  source: number;
  target: number;
}

/** Whether edges lead from one step to another. */
function isReached(links: readonly Link[], { from, to }: { from: number; to: number }): boolean {
  const leaving = Map.groupBy(links, ({ source }) => source);
  const reached = new Set([from]);
  // The loop over the Set also visits steps that are added meanwhile.
  for (const one of reached) for (const { target } of leaving.get(one) ?? []) reached.add(target);
  return reached.has(to);
}
