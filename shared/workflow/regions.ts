interface Edge {
  readonly index: number;
  readonly source: number;
  readonly target: number;
  readonly exit: string;
}

/** Nodes that are passed through together: those outside of bodies, or the body that a node repeats. */
export interface Region {
  /** The node that repeats it; null for the outermost region. */
  readonly container: number | null;
  readonly nodes: readonly number[];
  /** Edges by which a pass begins. */
  readonly entries: readonly number[];
}

export interface Regions {
  /** The outermost is the first. */
  readonly regions: readonly Region[];
  /** By node: its region, and its place in the region's `nodes`. */
  readonly regionOf: readonly number[];
  readonly placeOf: readonly number[];
  /** Edges that lead into a body from outside of it. */
  readonly strays: readonly number[];
}

/** Divides a graph into regions. The body of a node is what its exit `bodyOf` leads to; bodies may lie in each other. */
export function divide(count: number, edges: readonly Edge[], bodyOf: (node: number) => string | undefined): Regions {
  const leaving = Map.groupBy(edges, ({ source }) => source);
  const bodies = Array.from({ length: count }, (_, container) => container).flatMap((container) => {
    const exit = bodyOf(container);
    if (exit === undefined) return [];
    const entries = (leaving.get(container) ?? []).filter((edge) => edge.exit === exit);
    return [{ container, entries: entries.map(({ index }) => index), nodes: reach(container, entries, leaving) }];
  });
  // The innermost body of a node is the smallest that it lies in.
  bodies.sort((a, b) => b.nodes.size - a.nodes.size);
  const regionOf = new Array<number>(count).fill(0);
  for (const [at, { nodes }] of bodies.entries()) for (const node of nodes) regionOf[node] = at + 1;

  const members = Map.groupBy(regionOf.keys(), (node) => regionOf[node]);
  const outermost = { container: null, entries: [] };
  const regions = [outermost, ...bodies].map(
    ({ container, entries }, at): Region => ({ container, entries, nodes: members.get(at) ?? [] }),
  );
  const placeOf = new Array<number>(count).fill(0);
  for (const { nodes } of regions) for (const [place, node] of nodes.entries()) placeOf[node] = place;
  const strays = edges.filter(
    ({ source, target, index }) =>
      regionOf[source] !== regionOf[target] && !regions[regionOf[target] ?? 0]?.entries.includes(index),
  );
  return { regions, regionOf, placeOf, strays: strays.map(({ index }) => index) };
}

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
