import { useReactFlow } from '@xyflow/react';
import { useEffect, useRef } from 'react';
import { HEIGHT, WIDTH } from '../graph/lay-out.ts';
import type { Point } from '../graph/shown.ts';
import { FIT } from '../graph/view.tsx';

/** Room between a step that is brought into view and what is around the view. */
const MARGIN = 24;
/** Smaller cards cannot be read: a step that is looked for is enlarged. */
const MIN_ZOOM = 0.5;

interface Props {
  /** A step to bring into view, once. */
  sought: { id: string } | undefined;
  /** Another number shows the whole graph. */
  tidied: number;
  positions: ReadonlyMap<string, Point>;
}

/** Brings a step into the part of the view that no panel covers, and all of a graph that was tidied up. */
export function Views({ sought, tidied, positions }: Props) {
  const { fitView, getViewport, setViewport } = useReactFlow();
  const latest = useRef(positions);
  latest.current = positions;
  useEffect(() => {
    const at = sought && latest.current.get(sought.id);
    const pane = document.querySelector('.studio .graph')?.getBoundingClientRect();
    if (!at || !pane) return;
    const before = getViewport();
    const zoom = Math.max(before.zoom, MIN_ZOOM);
    const isEnlarged = zoom > before.zoom;
    const next = {
      x: shifted(at.x, WIDTH, { view: before.x, zoom, room: pane.width - covered(), isEnlarged }),
      y: shifted(at.y, HEIGHT, { view: before.y, zoom, room: pane.height, isEnlarged }),
    };
    if (next.x !== before.x || next.y !== before.y) void setViewport({ ...next, zoom });
  }, [sought, getViewport, setViewport]);
  useEffect(() => {
    const right = `${covered() + MARGIN}px` as const;
    const [x, y] = [`${MARGIN}px`, `${MARGIN}px`] as const;
    if (tidied > 0) void fitView({ ...FIT, padding: { x, y, right } });
  }, [tidied, fitView]);
  return null;
}

/** The pixels that the panel of a step covers at the right. */
function covered(): number {
  const panel = document.querySelector('.studio-panel');
  return panel && getComputedStyle(panel).position === 'absolute' ? panel.clientWidth : 0;
}

interface Side {
  view: number;
  zoom: number;
  room: number;
  isEnlarged: boolean;
}

/** The offset of the view with which a card is in it, as little as possible beside the present one. */
function shifted(at: number, size: number, { view, zoom, room, isEnlarged }: Side): number {
  const middle = room / 2 - (at + size / 2) * zoom;
  if (isEnlarged) return middle;
  const [from, to] = [at * zoom + view, (at + size) * zoom + view];
  if (from < MARGIN) return view + MARGIN - from;
  return to > room - MARGIN ? view - (to - room + MARGIN) : view;
}
