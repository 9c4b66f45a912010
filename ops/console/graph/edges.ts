import { type Edge as FlowEdge, MarkerType } from '@xyflow/react';
import { boxID } from './box-id.ts';
import type { Drawing } from './drawing.ts';
import { exitOfEdge, exitsOf, NEXT, type ShownExit } from './exits.ts';
import type { Kind, Kinds } from './kinds.ts';
import type { ShownEdge, ShownStep } from './shown.ts';

/** The edges of a graph as they are drawn: those that end a body are not, since its box says so. */
export function drawnEdges(
  { graph: { nodes, edges }, bodies, exits, layout: { boxes, ways } }: Drawing,
  kinds: Kinds,
): FlowEdge[] {
  const steps = new Map(nodes.map((node) => [node.id, node]));
  const leaving = Map.groupBy(edges, ({ source }) => source);
  return edges.flatMap((edge): FlowEdge[] => {
    const { id, source, target } = edge;
    const step = steps.get(source);
    if (!step || !steps.has(target)) return [];
    if (bodies.returns.has(id) && boxes.has(target)) return [];
    const { exit, shown, label, isOfBody } = exitOf(edge, step, kinds[step.type]);
    const isOfBox = boxes.has(source) && !isOfBody;
    const beside = exits.get(source)?.[isOfBox ? 'box' : 'card'];
    return [
      {
        ...{ id, target, sourceHandle: shown, source: isOfBox ? boxID(source) : source },
        ...label,
        data: {
          ...(ways.has(id) && { points: ways.get(id) }),
          isNamedAtExit: isCrowded(beside) && isAlone(edge, leaving.get(source)),
        },
        markerEnd: { type: MarkerType.ArrowClosed },
        ...((exit === undefined || bodies.strays.has(id)) && { style: { stroke: 'var(--bad)' } }),
      },
    ];
  });
}

/** The exit by which an edge leaves, with its name. One that the API refuses is shown as it is written. */
function exitOf({ sourceHandle }: ShownEdge, { data }: ShownStep, kind: Kind | undefined) {
  const exit = exitOfEdge(kind, data, sourceHandle);
  const shown = exit ?? sourceHandle ?? 'output';
  const name = exitsOf(kind, data).find((one) => one.id === exit)?.name ?? shown;
  const label = name === NEXT || name === '' ? {} : { label: name };
  return { exit, shown, label, isOfBody: shown === kind?.bodyExit };
}

/** More exits have no room for their names, one beside the other; their edges lead apart, so that these have it in the middle. */
const MAX_BESIDE = 3;

/** Whether no other edge leaves by the same exit. */
function isAlone({ sourceHandle }: ShownEdge, leaving: readonly ShownEdge[] = []): boolean {
  return leaving.filter((one) => one.sourceHandle === sourceHandle).length === 1;
}

/** Whether names in the middle of the edges could cover each other, or those of exits that lead nowhere. */
function isCrowded(exits: readonly ShownExit[] = []): boolean {
  const onward = exits.filter(({ id }) => id !== 'error');
  return onward.length > 1 && (onward.length <= MAX_BESIDE || onward.some(({ isConnected }) => !isConnected));
}
