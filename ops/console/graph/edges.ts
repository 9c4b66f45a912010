import { type Edge as FlowEdge, MarkerType } from '@xyflow/react';
import { boxID } from './box-id.ts';
import type { Drawing } from './drawing.ts';
import { exitOfEdge, exitsOf, NEXT } from './exits.ts';
import type { Kinds } from './kinds.ts';

/** The edges of a graph as they are drawn: those that end a body are not, since its box says so. */
export function drawnEdges(
  { graph: { nodes, edges }, bodies, layout: { boxes, ways } }: Pick<Drawing, 'graph' | 'bodies' | 'layout'>,
  kinds: Kinds,
): FlowEdge[] {
  const steps = new Map(nodes.map((node) => [node.id, node]));
  return edges.flatMap((edge): FlowEdge[] => {
    const { id, source, target, sourceHandle } = edge;
    const step = steps.get(source);
    if (!step || !steps.has(target)) return [];
    if (bodies.returns.has(id) && boxes.has(target)) return [];
    const kind = kinds[step.type];
    const exit = exitOfEdge(kind, step.data, sourceHandle);
    const shown = exit ?? sourceHandle ?? 'output';
    const name = exitsOf(kind, step.data).find((one) => one.id === exit)?.name ?? shown;
    const isOfBox = boxes.has(source) && shown !== kind?.bodyExit;
    return [
      {
        ...{ id, target, sourceHandle: shown, source: isOfBox ? boxID(source) : source },
        ...(name !== NEXT && name !== '' && { label: name }),
        ...(ways.has(id) && { data: { points: ways.get(id) } }),
        markerEnd: { type: MarkerType.ArrowClosed },
        ...((exit === undefined || bodies.strays.has(id)) && { style: { stroke: 'var(--bad)' } }),
      },
    ];
  });
}
