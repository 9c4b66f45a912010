import { exitOfEdge, type ShownExit, shownExits, splitExits } from './exits.ts';
import type { Kinds } from './kinds.ts';
import { type Layout, layoutOf } from './lay-out.ts';
import { type Bodies, bodiesOf } from './shape.ts';
import type { ShownEdge, ShownGraph } from './shown.ts';

/** A graph with all that is computed of it before it is drawn, in the editor and on the page of a run. */
export interface Drawing {
  graph: ShownGraph;
  bodies: Bodies;
  layout: Layout;
  /** The exits of each step: those at its card, and those at the box around its body if one is drawn. */
  exits: ReadonlyMap<string, { card: readonly ShownExit[]; box: readonly ShownExit[] }>;
}

export function drawingOf(graph: ShownGraph, kinds: Kinds): Drawing {
  const bodies = bodiesOf(graph, kinds);
  const layout = layoutOf(graph, bodies);
  const leaving = Map.groupBy(graph.edges, ({ source }) => source);
  const exits = graph.nodes.map((node) => {
    const own = leaving.get(node.id) ?? [];
    const isDrawn = ({ id, target }: ShownEdge) => !(bodies.returns.has(id) && layout.boxes.has(target));
    const drawn = new Set(
      own.filter(isDrawn).map(({ sourceHandle }) => exitOfEdge(kinds[node.type], node.data, sourceHandle)),
    );
    const all = shownExits(node, own, kinds).map((exit) =>
      exit.isConnected && !exit.isRefused && !drawn.has(exit.id) ? { ...exit, isReturn: true } : exit,
    );
    const hasBox = layout.boxes.has(node.id);
    return [node.id, hasBox ? splitExits(all, kinds[node.type]?.bodyExit) : { card: all, box: [] }] as const;
  });
  return { graph, bodies, layout, exits: new Map(exits) };
}
