import { type Node, Position, type Rect, useReactFlow, useStoreApi, type Viewport } from '@xyflow/react';
import { useCallback } from 'react';
import type { Flow } from './lay-out.ts';
import { coveredWidth } from './workspace.tsx';

/** Pixels around a graph that is shown as a whole. */
const MARGIN = 24;
/** The beginning of a graph that is not shown as a whole. */
const READABLE = { zoom: 0.65, margin: 40 };
/** Editors show a graph of many steps rather as a whole. */
const SMALLEST = 0.3;

interface Room {
  width: number;
  height: number;
}

/** The whole of a graph in the middle of the room for it, no larger than it is. */
export function wholeIn(all: Rect, room: Room): Viewport {
  const across = (room.width - 2 * MARGIN) / all.width;
  const zoom = Math.min(1, across, (room.height - 2 * MARGIN) / all.height);
  return {
    zoom,
    x: room.width / 2 - (all.x + all.width / 2) * zoom,
    y: room.height / 2 - (all.y + all.height / 2) * zoom,
  };
}

/** The beginning of a graph, with its first step in the middle across the flow. */
export function beginningIn(first: Rect, flow: Flow, room: Room): Viewport {
  const { zoom, margin } = READABLE;
  const { x, y, width, height } = first;
  if (flow === 'right') return { zoom, x: margin - x * zoom, y: room.height / 2 - (y + height / 2) * zoom };
  return { zoom, x: room.width / 2 - (x + width / 2) * zoom, y: margin - y * zoom };
}

/** Shows a graph in the part of its place that no panel covers: the whole, or the beginning where the whole would be smaller than that. */
export function useShowGraph(): (smallest?: number) => void {
  const store = useStoreApi();
  const { getNodes, getNodesBounds, setViewport } = useReactFlow();
  return useCallback(
    (smallest = SMALLEST) => {
      const { width, height } = store.getState();
      const room = { width: width - coveredWidth(), height };
      const nodes = getNodes();
      // Notes stand beside the steps, and mostly before the first one.
      const steps = nodes.filter(({ type }) => type !== 'note');
      const flow = steps[0]?.sourcePosition === Position.Right ? 'right' : 'down';
      const first = firstOf(steps, flow) ?? nodes[0];
      if (!first) return;
      const whole = wholeIn(getNodesBounds(nodes), room);
      void setViewport(whole.zoom < smallest ? beginningIn(getNodesBounds([first]), flow, room) : whole);
    },
    [store, getNodes, getNodesBounds, setViewport],
  );
}

/** The step with which a flow begins. */
export function firstOf<N extends Pick<Node, 'position'>>(nodes: readonly N[], flow: Flow): N | undefined {
  const [along, across] = flow === 'right' ? (['x', 'y'] as const) : (['y', 'x'] as const);
  const sorted = nodes.toSorted(
    ({ position: one }, { position: other }) => one[along] - other[along] || one[across] - other[across],
  );
  return sorted[0];
}
