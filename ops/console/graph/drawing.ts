import { type ShownExit, shownExits, splitExits } from './exits.ts';
import type { Kinds } from './kinds.ts';
import { type Layout, layoutOf } from './lay-out.ts';
import { type Bodies, bodiesOf } from './shape.ts';
import type { ShownGraph } from './shown.ts';

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
    const all = shownExits(node, leaving.get(node.id) ?? [], kinds);
    const hasBox = layout.boxes.has(node.id);
    return [node.id, hasBox ? splitExits(all, kinds[node.type]?.bodyExit) : { card: all, box: [] }] as const;
  });
  return { graph, bodies, layout, exits: new Map(exits) };
}
