import dagre from '@dagrejs/dagre';
import { type Bodies, withBody } from './shape.ts';
import type { Point, ShownGraph } from './shown.ts';

/** The size of a card. */
export const WIDTH = 216;
export const HEIGHT = 76;

/** Which way the edges of a graph lead for the most part. */
export type Flow = 'down' | 'right';

export interface Box extends Point {
  width: number;
  height: number;
}

/** Where all parts of a graph are drawn. */
export interface Layout {
  flow: Flow;
  positions: ReadonlyMap<string, Point>;
  /** The boxes around steps with a body, by the step that repeats it. A box that would hold other steps is left out. */
  boxes: ReadonlyMap<string, Box>;
  /** The points by which long edges lead around cards, by the ids of the edges. */
  ways: ReadonlyMap<string, readonly Point[]>;
}

/** Steps are drawn where a person has put them; the others, and all of a graph that no person has arranged, by the layout. */
export function layoutOf(graph: ShownGraph, bodies: Bodies): Layout {
  const isArranged = graph.nodes.some(({ position }) => position);
  const own = graph.nodes.every(({ position }) => position) ? nothing : layOut(graph, bodies);
  const positions = new Map(
    graph.nodes.map(({ id, position }) => [id, position ?? own.positions.get(id) ?? { x: 0, y: 0 }]),
  );
  const flow = isArranged ? flowOf(graph, positions) : 'down';
  return { flow, positions, boxes: boxesOf(bodies, positions), ways: isArranged ? nothing.ways : own.ways };
}

const nothing: Drawn = { positions: new Map(), ways: new Map() };

interface Drawn {
  positions: ReadonlyMap<string, Point>;
  ways: ReadonlyMap<string, readonly Point[]>;
}

function flowOf({ edges }: ShownGraph, positions: ReadonlyMap<string, Point>): Flow {
  const toTheRight = edges.filter(({ source, target }) => {
    const [from, to] = [positions.get(source), positions.get(target)];
    return from && to && to.x - from.x > Math.abs(to.y - from.y);
  });
  return toTheRight.length > edges.length / 2 ? 'right' : 'down';
}

/** Room between a box and what it holds; below, for the exits as well. */
const PAD = 24;
const BELOW = 76;
/** Room between cards, one above the other, for the names of exits. */
const ROW_GAP = 64;
export const ROW = HEIGHT + ROW_GAP;
export const COLUMN = WIDTH + 72;

/** Around the steps of each body and the step that repeats it; none where a step of no part of it would lie in it. */
export function boxesOf(
  { containers, containerOf }: Bodies,
  positions: ReadonlyMap<string, Point>,
): ReadonlyMap<string, Box> {
  const boxes = new Map<string, Box>();
  const draw = (container: string): Box => {
    const known = boxes.get(container);
    if (known) return known;
    const steps = containers.get(container) ?? [];
    const inner = steps.map((id) => (containers.has(id) ? draw(id) : cardAt(positions.get(id))));
    const box = around([cardAt(positions.get(container)), ...inner], steps.length > 0);
    boxes.set(container, box);
    return box;
  };
  for (const container of containers.keys()) draw(container);
  const isIn = (id: string, container: string) => {
    for (let one: string | undefined = id; one !== undefined; one = containerOf.get(one))
      if (one === container) return true;
    return false;
  };
  const holdsOthers = ([container, box]: [string, Box]) =>
    [...positions].some(([id, at]) => overlaps(box, cardAt(at)) && !isIn(id, container));
  return new Map([...boxes].filter((one) => !holdsOthers(one)));
}

function cardAt(point: Point | undefined): Box {
  return { x: point?.x ?? 0, y: point?.y ?? 0, width: WIDTH, height: HEIGHT };
}

function around(boxes: readonly Box[], hasBody: boolean): Box {
  const left = Math.min(...boxes.map(({ x }) => x)) - PAD;
  const top = Math.min(...boxes.map(({ y }) => y)) - PAD;
  const right = Math.max(...boxes.map(({ x, width }) => x + width)) + PAD;
  const bottom = Math.max(...boxes.map(({ y, height }) => y + height)) + (hasBody ? BELOW : ROW_GAP + BELOW);
  return { x: left, y: top, width: right - left, height: bottom - top };
}

function overlaps(one: Box, other: Box): boolean {
  const across = one.x < other.x + other.width && other.x < one.x + one.width;
  return across && one.y < other.y + other.height && other.y < one.y + one.height;
}

/** Positions for the steps of a graph, from top to bottom; a body lies below the step that repeats it, in one box with it. */
function layOut(graph: ShownGraph, bodies: Bodies): Drawn {
  const drawing = { graph, bodies, positions: new Map<string, Point>(), ways: new Map<string, Point[]>() };
  const outermost = graph.nodes.flatMap(({ id }) => (bodies.containerOf.has(id) ? [] : [id]));
  layOutBody(outermost, drawing);
  return drawing;
}

interface Drawing {
  graph: ShownGraph;
  bodies: Bodies;
  positions: Map<string, Point>;
  ways: Map<string, Point[]>;
}

/** Draws steps of one body from the origin on, and what lies in them; returns the size of all. */
function layOutBody(steps: readonly string[], drawing: Drawing): { width: number; height: number } {
  const { graph, bodies, positions, ways } = drawing;
  const inside = new Map(
    steps.flatMap((id) => {
      const own = bodies.containers.get(id);
      return own ? [[id, { steps: own, size: layOutBody(own, drawing) }] as const] : [];
    }),
  );
  const sizeOf = (id: string) => {
    const { steps: own = [], size } = inside.get(id) ?? {};
    if (!size) return { width: WIDTH, height: HEIGHT };
    const body = own.length > 0 ? size.height : 0;
    return { width: Math.max(WIDTH, size.width) + 2 * PAD, height: PAD + HEIGHT + ROW_GAP + body + BELOW };
  };
  const drawn = new dagre.graphlib.Graph({ multigraph: true });
  drawn.setGraph({ rankdir: 'TB', nodesep: 40, ranksep: ROW_GAP });
  drawn.setDefaultEdgeLabel(() => ({}));
  for (const id of new Set(steps)) drawn.setNode(id, sizeOf(id));
  // Edges that cross no others are drawn by dagre from right to left.
  const last = ({ id }: { id: string }) => bodies.exitOrder.get(id) ?? 0;
  for (const { id, source, target } of graph.edges.toReversed().sort((one, other) => last(other) - last(one)))
    if (drawn.hasNode(source) && drawn.hasNode(target) && !bodies.returns.has(id))
      drawn.setEdge(source, target, {}, id);
  dagre.layout(drawn);
  for (const id of new Set(steps)) {
    const { x, y, width, height } = drawn.node(id);
    const own = inside.get(id);
    const [left, top] = [x - width / 2, y - height / 2];
    positions.set(id, { x: x - WIDTH / 2, y: own ? top + PAD : top });
    if (!own) continue;
    move(drawing, own.steps, { x: left + (width - own.size.width) / 2, y: top + PAD + HEIGHT + ROW_GAP });
  }
  for (const { v, w, name = '' } of drawn.edges()) {
    // Those between are where the edge passes ranks of cards; both ends are at cards.
    const points = drawn.edge({ v, w, name }).points.slice(1, -1);
    if (points.length > 1) ways.set(name, points);
  }
  const { width = 0, height = 0 } = drawn.graph();
  return { width: Math.max(0, width), height: Math.max(0, height) };
}

/** Moves steps of one body with all that lies in them. */
function move({ graph, bodies, positions, ways }: Drawing, steps: readonly string[], by: Point): void {
  const inner = new Set(steps.flatMap((step) => withBody(step, bodies)));
  const moved = ({ x, y }: Point) => ({ x: x + by.x, y: y + by.y });
  for (const id of inner) positions.set(id, moved(positions.get(id) ?? { x: 0, y: 0 }));
  for (const { id, source } of graph.edges)
    if (inner.has(source) && ways.has(id)) ways.set(id, (ways.get(id) ?? []).map(moved));
}

/** A curve from one end to the other by points between them. */
export function pathBy({ sourceX, sourceY, targetX, targetY }: Ends, points: readonly Point[]): string {
  let path = `M${sourceX},${sourceY}`;
  let before: Point = { x: sourceX, y: sourceY };
  for (const point of [...points, { x: targetX, y: targetY }]) {
    const middle = (before.y + point.y) / 2;
    path += ` C${before.x},${middle} ${point.x},${middle} ${point.x},${point.y}`;
    before = point;
  }
  return path;
}

/** Room between the nodes and an edge that leads back. */
const AROUND = 24;

interface Ends {
  sourceX: number;
  sourceY: number;
  targetX: number;
  targetY: number;
}

/** Whether an edge leads against the flow, as one does that closes a loop. */
export function leadsBack({ sourceX, sourceY, targetX, targetY }: Ends, flow: Flow): boolean {
  return flow === 'down' ? targetY < sourceY : targetX < sourceX;
}

/** A path beside both nodes: a curve would lead through them. */
export function pathAround({ sourceX, sourceY, targetX, targetY }: Ends, flow: Flow): string {
  if (flow === 'down') {
    const x = Math.min(sourceX, targetX) - WIDTH / 2 - AROUND;
    return `M${sourceX},${sourceY} v${AROUND / 2} H${x} V${targetY - AROUND / 2} H${targetX} V${targetY}`;
  }
  const y = Math.max(sourceY, targetY) + HEIGHT / 2 + AROUND;
  return `M${sourceX},${sourceY} h${AROUND / 2} V${y} H${targetX - AROUND / 2} V${targetY} H${targetX}`;
}

/** The middle of that path, where its name stands. */
export function middleAround({ sourceX, sourceY, targetX, targetY }: Ends, flow: Flow): Point {
  if (flow === 'down') return { x: Math.min(sourceX, targetX) - WIDTH / 2 - AROUND, y: (sourceY + targetY) / 2 };
  return { x: (sourceX + targetX) / 2, y: Math.max(sourceY, targetY) + HEIGHT / 2 + AROUND };
}
