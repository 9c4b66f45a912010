interface Edge {
  readonly index: number;
  readonly source: number;
  readonly target: number;
  readonly exit: string;
}

/** The nodes that one pass goes through: those outside of bodies, or the body that a node repeats. */
export interface Region {
  /** The node that repeats the region; null for the outermost region. */
  readonly container: number | null;
  readonly nodes: readonly number[];
  /** The edges from the container into the region, with which a pass begins. */
  readonly entries: readonly number[];
}

export interface Regions {
  /** The outermost is the first. */
  readonly regions: readonly Region[];
  /** The region of each node, and its index in the region's `nodes`. */
  readonly regionOf: readonly number[];
  readonly positionOf: readonly number[];
  /** Edges from a body back to the node that repeats it, or to one that repeats a body around it. A branch of the body ends with them. */
  readonly returns: ReadonlySet<number>;
  /** Edges that lead into a body from outside of it, or back to a node that does not repeat the body. */
  readonly strays: readonly number[];
  /** Nodes whose body lies too deep in other bodies, or overlaps too much with others. */
  readonly tooDeep: readonly number[];
}

type BodyOf = (node: number) => string | undefined;

export const MAX_NESTED_BODIES = 10;

/**
 * Divides a graph into regions. The body of a node is all nodes that can be reached by its exit `bodyOf`, up to the edges that lead
 * back to the node. Bodies may lie in each other.
 */
export function divide(count: number, edges: readonly Edge[], bodyOf: BodyOf): Regions {
  const returns = findReturns(count, edges, bodyOf);
  const leaving = Map.groupBy(
    edges.filter(({ index }) => !returns.has(index)),
    ({ source }) => source,
  );
  const bodies: (Omit<Region, 'nodes'> & { nodes: Set<number> })[] = [];
  let budget = MAX_NESTED_BODIES * count;
  for (let container = 0; container < count; container += 1) {
    const exit = bodyOf(container);
    if (exit === undefined) continue;
    const entries = (leaving.get(container) ?? []).filter((edge) => edge.exit === exit);
    const nodes = reach(container, entries, leaving);
    // A node lies in at most `MAX_NESTED_BODIES` bodies, unless they overlap. Without this limit, time would grow with the square of the graph.
    budget -= nodes.size;
    if (budget < 0) return { ...undivided(count), returns, tooDeep: [container] };
    bodies.push({ container, entries: entries.map(({ index }) => index), nodes });
  }
  // The innermost body of a node is the smallest that it lies in.
  bodies.sort((a, b) => b.nodes.size - a.nodes.size);
  const regionOf = new Array<number>(count).fill(0);
  for (const [at, { nodes }] of bodies.entries()) for (const node of nodes) regionOf[node] = at + 1;

  const members = Map.groupBy(regionOf.keys(), (node) => regionOf[node]);
  const outermost = { container: null, entries: [] };
  const regions = [outermost, ...bodies].map(
    ({ container, entries }, at): Region => ({ container, entries, nodes: members.get(at) ?? [] }),
  );
  const positionOf = new Array<number>(count).fill(0);
  for (const { nodes } of regions) for (const [position, node] of nodes.entries()) positionOf[node] = position;
  // A return has to lead to the node that repeats its body. Any other edge has to stay in its region, or be an entry of a body.
  const isStray = ({ source, target, index }: Edge) =>
    returns.has(index)
      ? regions[regionOf[source] ?? 0]?.container !== target && source !== target
      : regionOf[source] !== regionOf[target] && !regions[regionOf[target] ?? 0]?.entries.includes(index);
  const depths = depthsOf(regions, regionOf);
  return {
    regions,
    regionOf,
    positionOf,
    returns,
    strays: edges.filter(isStray).map(({ index }) => index),
    tooDeep: regions.flatMap(({ container }, at) =>
      container !== null && (depths[at] ?? 0) > MAX_NESTED_BODIES ? [container] : [],
    ),
  };
}

/** The result if bodies overlap too much: all nodes in one region. */
function undivided(count: number): Omit<Regions, 'returns' | 'tooDeep'> {
  const nodes = Array.from({ length: count }, (_, node) => node);
  return {
    regions: [{ container: null, entries: [], nodes }],
    regionOf: new Array<number>(count).fill(0),
    positionOf: nodes,
    strays: [],
  };
}

/** The depth of each region: how many bodies lie around its nodes. A larger body comes before those in it. */
function depthsOf(regions: readonly Region[], regionOf: readonly number[]): number[] {
  const depths: number[] = [];
  for (const { container } of regions)
    depths.push(container === null ? 0 : (depths[regionOf[container] ?? 0] ?? 0) + 1);
  return depths;
}

/** The nodes that can be reached by the entries of a body, without passing its container. */
function reach(
  container: number,
  entries: readonly Edge[],
  leaving: ReadonlyMap<number, readonly Edge[]>,
): Set<number> {
  const reached = new Set(entries.map(({ target }) => target));
  // The loop over the Set also visits nodes that are added meanwhile.
  for (const node of reached)
    for (const { target } of leaving.get(node) ?? []) if (target !== container) reached.add(target);
  return reached;
}

/** Finds the edges that lead back to a node on the path to them, if the path leaves that node by the exit to its body. */
function findReturns(count: number, edges: readonly Edge[], bodyOf: BodyOf): Set<number> {
  const returns = new Set<number>();
  const leaving = Map.groupBy(edges, ({ source }) => source);
  const entered = new Set(edges.map(({ target }) => target));
  const all = Array.from({ length: count }, (_, node) => node);
  const finished = new Set<number>();
  for (const root of [...all.filter((node) => !entered.has(node)), ...all]) if (!finished.has(root)) walk(root);
  return returns;

  /** Walks depth first, but not recursively, since a chain may be thousands of nodes long. */
  function walk(root: number): void {
    const way = [{ node: root, nextEdge: 0 }];
    /** The exit by which the path leaves each of its nodes. */
    const exits = new Map<number, string>();
    for (let step = way.at(-1); step; step = way.at(-1)) {
      const edge = leaving.get(step.node)?.[step.nextEdge];
      step.nextEdge += 1;
      if (!edge) {
        finished.add(step.node);
        exits.delete(step.node);
        way.pop();
        continue;
      }
      exits.set(step.node, edge.exit);
      const exit = exits.get(edge.target);
      if (exit !== undefined && exit === bodyOf(edge.target)) returns.add(edge.index);
      if (exit === undefined && !finished.has(edge.target)) way.push({ node: edge.target, nextEdge: 0 });
    }
  }
}
