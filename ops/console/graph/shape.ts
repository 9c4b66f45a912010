import { divide } from '#shared/workflow/graph/regions.ts';
import { exitOfEdge, exitsOf } from './exits.ts';
import type { Kinds } from './kinds.ts';
import type { ShownEdge, ShownGraph } from './shown.ts';

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

export function bodiesOf({ nodes, edges }: ShownGraph, kinds: Kinds): Bodies {
  const indexOf = new Map(nodes.map(({ id }, index) => [id, index]));
  const known = edges.filter(({ source, target }) => indexOf.has(source) && indexOf.has(target));
  const links = known.map(({ source, target, sourceHandle }, index) => {
    const at = indexOf.get(source) ?? 0;
    const { type = '', data = {} } = nodes[at] ?? {};
    const exit = exitOfEdge(kinds[type], data, sourceHandle) ?? '';
    return { index, source: at, target: indexOf.get(target) ?? 0, exit };
  });
  const bodyOf = (index: number) => kinds[nodes[index]?.type ?? '']?.bodyExit ?? undefined;
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

/** A step with all that lies in its body, also in bodies in that. */
export function withBody(id: string, { containers }: Bodies): string[] {
  const found = new Set([id]);
  // The loop over the Set also visits steps that are added meanwhile.
  for (const one of found) for (const inner of containers.get(one) ?? []) found.add(inner);
  return [...found];
}

/** Whether the API would accept one more edge. What is refused already does not count. */
export function mayConnect(
  graph: ShownGraph,
  kinds: Kinds,
  { source, target, exit }: { source: string; target: string; exit: string },
): boolean {
  const find = (wanted: string) => graph.nodes.find(({ id }) => id === wanted);
  const [from, to] = [find(source), find(target)];
  if (!from || !to || kinds[to.type]?.begins || kinds[from.type]?.exits.length === 0) return false;
  if (exitOfEdge(kinds[from.type], from.data, exit) === undefined) return false;
  const isThere = graph.edges.some((edge) => {
    const own = exitOfEdge(kinds[from.type], from.data, edge.sourceHandle);
    return edge.source === source && edge.target === target && own === exit;
  });
  if (isThere) return false;
  const added = { id: NEW, source, target, sourceHandle: exit };
  const edges = [...graph.edges, added];
  const before = bodiesOf(graph, kinds);
  const { strays, returns } = bodiesOf({ ...graph, edges }, kinds);
  if ([...strays].some((id) => !before.strays.has(id))) return false;
  return returns.has(NEW) || (source !== target && !isReached(edges, returns, { from: target, to: source }));
}

/** No edge has it: ids of edges are not empty. */
const NEW = '';

/** Whether edges lead from one step to another, without those that end a body. */
function isReached(
  edges: readonly ShownEdge[],
  returns: ReadonlySet<string>,
  { from, to }: { from: string; to: string },
): boolean {
  const leaving = Map.groupBy(
    edges.filter(({ id }) => !returns.has(id)),
    ({ source }) => source,
  );
  const reached = new Set([from]);
  // The loop over the Set also visits steps that are added meanwhile.
  for (const one of reached) for (const { target } of leaving.get(one) ?? []) reached.add(target);
  return reached.has(to);
}
