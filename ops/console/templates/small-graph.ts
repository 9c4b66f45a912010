import dagre from '@dagrejs/dagre';
import type { Kinds } from '../graph/kinds.ts';
import { bodiesOf, withBody } from '../graph/shape.ts';
import type { Point, ShownGraph } from '../graph/shown.ts';

/** The side of the square that stands for a step. */
export const TILE = 44;
const GAP = { between: 16, behind: 26, box: 9 };

/** A graph from left to right without words, small enough for a card. */
export interface SmallGraph {
  width: number;
  height: number;
  tiles: readonly ({ id: string; type: string } & Point)[];
  lines: readonly { id: string; path: string }[];
  /** Around the steps that are repeated, and the step that repeats them. */
  boxes: readonly ({ id: string; width: number; height: number } & Point)[];
}

export function smallGraphOf(graph: ShownGraph, kinds: Kinds): SmallGraph {
  const bodies = bodiesOf(graph, kinds);
  const drawn = new dagre.graphlib.Graph({ multigraph: true });
  drawn.setGraph({ rankdir: 'LR', nodesep: GAP.between, ranksep: GAP.behind, marginx: GAP.box, marginy: GAP.box });
  drawn.setDefaultEdgeLabel(() => ({}));
  for (const { id } of graph.nodes) drawn.setNode(id, { width: TILE, height: TILE });
  for (const { id, source, target } of graph.edges)
    if (drawn.hasNode(source) && drawn.hasNode(target) && !bodies.returns.has(id))
      drawn.setEdge(source, target, {}, id);
  dagre.layout(drawn);
  const cornerOf = (id: string): Point => {
    const { x, y } = drawn.node(id);
    return { x: x - TILE / 2, y: y - TILE / 2 };
  };
  const tiles = graph.nodes.map(({ id, type }) => ({ id, type, ...cornerOf(id) }));
  const boxes = [...bodies.containers.keys()].flatMap((id) => {
    const inner = new Set(withBody(id, bodies));
    const box = around([...inner].map(cornerOf));
    const holdsOthers = tiles.some((tile) => !inner.has(tile.id) && overlaps(box, tile));
    return inner.size < 2 || holdsOthers ? [] : [{ id, ...box }];
  });
  const lines = drawn.edges().map(({ v, w, name = '' }: DrawnEdge) => {
    const between = drawn.edge({ v, w, name }).points.slice(1, -1);
    const [from, to] = [drawn.node(v), drawn.node(w)];
    const ends = [{ x: from.x + TILE / 2, y: from.y }, ...between, { x: to.x - TILE / 2, y: to.y }];
    return { id: name, path: curve(ends) };
  });
  const { width = 0, height = 0 } = drawn.graph();
  return { width: Math.max(0, width), height: Math.max(0, height), tiles, lines, boxes };
}

/** An edge as dagre names it. */
interface DrawnEdge {
  v: string;
  w: string;
  name?: string;
}

function around(corners: readonly Point[]) {
  const [left, top] = [Math.min(...corners.map(({ x }) => x)), Math.min(...corners.map(({ y }) => y))];
  const [right, bottom] = [Math.max(...corners.map(({ x }) => x)), Math.max(...corners.map(({ y }) => y))];
  const extra = TILE + 2 * GAP.box;
  return { x: left - GAP.box, y: top - GAP.box, width: right - left + extra, height: bottom - top + extra };
}

function overlaps(box: { x: number; y: number; width: number; height: number }, { x, y }: Point): boolean {
  return x < box.x + box.width && box.x < x + TILE && y < box.y + box.height && box.y < y + TILE;
}

/** A line to the right through all points. */
function curve([first = { x: 0, y: 0 }, ...others]: readonly Point[]): string {
  let path = `M${first.x},${first.y}`;
  let before = first;
  for (const point of others) {
    const middle = (before.x + point.x) / 2;
    path += ` C${middle},${before.y} ${middle},${point.y} ${point.x},${point.y}`;
    before = point;
  }
  return path;
}
