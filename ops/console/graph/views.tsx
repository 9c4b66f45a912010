import { useNodesInitialized, useReactFlow, useStore } from '@xyflow/react';
import { useEffect, useRef } from 'react';
import { useShowGraph } from './fit.ts';
import { HEIGHT, WIDTH } from './lay-out.ts';
import type { Point } from './shown.ts';
import { coveredWidth } from './workspace.tsx';

/** Room between a step that is brought into view and what is around the view. */
const MARGIN = 24;
/** The buttons of the zoom lie over the graph at the left. */
const BUTTONS = 56;
/** Names of the exits of a card, and the buttons that add a step behind them, hang on it. */
const EXITS = 72;
/** Smaller cards cannot be read: a step that is looked for is enlarged. */
const MIN_ZOOM = 0.5;

interface Props {
  /** A step to bring into view, once. */
  sought: { id: string } | undefined;
  /** Another number shows the whole graph. */
  tidied?: number;
  positions: ReadonlyMap<string, Point>;
}

/** Brings a step into the part of the view that no panel covers, and all of a graph that was tidied up. */
export function Views({ sought, tidied = 0, positions }: Props) {
  const { getViewport, setViewport } = useReactFlow();
  const latest = useRef(positions);
  latest.current = positions;
  const found = useRef<Props['sought']>(undefined);
  const show = useShowGraph();
  // Before it has a size, the graph is not drawn, and the first view of it shows the whole or its beginning.
  const hasSize = useStore(({ width }) => width > 0);
  const isDrawn = useNodesInitialized() && hasSize;
  useEffect(() => {
    if (!isDrawn || found.current === sought) return;
    found.current = sought;
    const at = sought && latest.current.get(sought.id);
    const pane = document.querySelector('.studio .graph')?.getBoundingClientRect();
    if (!at || !pane) return;
    const before = getViewport();
    const zoom = Math.max(before.zoom, MIN_ZOOM);
    const isEnlarged = zoom > before.zoom;
    const next = {
      x: shifted(at.x, WIDTH + EXITS, {
        view: before.x,
        zoom,
        room: pane.width - coveredWidth(),
        before: BUTTONS,
        isEnlarged,
      }),
      y: shifted(at.y, HEIGHT + EXITS, { view: before.y, zoom, room: pane.height, before: MARGIN, isEnlarged }),
    };
    if (next.x !== before.x || next.y !== before.y) void setViewport({ ...next, zoom });
  }, [isDrawn, sought, getViewport, setViewport]);
  useEffect(() => {
    if (tidied > 0) show();
  }, [tidied, show]);
  return null;
}

interface Side {
  view: number;
  zoom: number;
  room: number;
  /** Pixels at the beginning of the view in which it must not lie. */
  before: number;
  isEnlarged: boolean;
}

/** The offset of the view with which a card is in it, as little as possible beside the present one. */
function shifted(at: number, size: number, { view, zoom, room, before, isEnlarged }: Side): number {
  const middle = room / 2 - (at + size / 2) * zoom;
  if (isEnlarged) return middle;
  const [from, to] = [at * zoom + view, (at + size) * zoom + view];
  if (from < before) return view + before - from;
  return to > room - MARGIN ? view - (to - room + MARGIN) : view;
}
