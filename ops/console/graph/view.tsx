import '@xyflow/react/dist/style.css';
import './graph.css';
import { useComputedColorScheme } from '@mantine/core';
import {
  Background,
  BaseEdge,
  ControlButton,
  Controls,
  EdgeLabelRenderer,
  type EdgeProps,
  getBezierPath,
  MiniMap,
  type Node,
  type NodeHandle,
  Position,
  ReactFlow,
  type ReactFlowProps,
  useNodesInitialized,
  useStore,
} from '@xyflow/react';
import { createContext, memo, type ReactNode, useContext, useEffect, useRef } from 'react';
import { Icon } from '../ui/icon.tsx';
import { partOfSide } from './exits.ts';
import { useShowGraph } from './fit.ts';
import { type Flow, HEIGHT, leadsBack, middleAround, pathAround, pathBy, WIDTH } from './lay-out.ts';
import type { Point } from './shown.ts';

const edgeTypes = { default: memo(GraphEdge) };

/** A graph of more steps than these has a small map. */
export const MANY = 30;

/** Actions on a graph that is edited. A graph to look at has none. */
export interface GraphActions {
  /** Offers steps behind an exit. */
  onAddBehind(id: string, exit: string): void;
  /** Offers steps between two. */
  onAddBetween(edge: string): void;
}

export const EditedGraph = createContext<GraphActions | undefined>(undefined);

interface Props {
  label: string;
  /** How many steps are drawn. */
  steps: number;
  /** A graph that would be smaller as a whole is shown from its beginning. */
  smallest?: number;
  children?: ReactNode;
}

/** A graph to look at and to choose from; what else can be done with it, its props say. */
export function GraphView<N extends Node>({ label, steps, smallest, children, ...flow }: ReactFlowProps<N> & Props) {
  const scheme = useComputedColorScheme();
  return (
    <section className="graph" aria-label={label}>
      <ReactFlow colorMode={scheme} minZoom={0.05} maxZoom={1.5} edgeTypes={edgeTypes} {...flow}>
        <Background />
        <Controls showFitView={false} showInteractive={false}>
          <ShowAll />
        </Controls>
        {steps > MANY && (
          <MiniMap nodeColor="var(--idle)" pannable zoomable ariaLabel="Map of the graph" position="top-left" />
        )}
        <FitToWidth smallest={smallest} />
        {children}
      </ReactFlow>
    </section>
  );
}

function GraphEdge(edge: EdgeProps) {
  const actions = useContext(EditedGraph);
  const flow = edge.sourcePosition === Position.Right ? 'right' : 'down';
  const { id, label, style = {}, markerEnd, interactionWidth } = edge;
  const isBack = leadsBack(edge, flow);
  const { path, ...middle } = isBack ? { path: pathAround(edge, flow), ...middleAround(edge, flow) } : wayOf(edge);
  const isAtExit = edge.data?.isNamedAtExit === true;
  const { x, y } = isAtExit ? pointAtExit(edge, flow) : middle;
  const [left, top] = isAtExit ? anchorAtExit[flow] : ['-50%', '-50%'];
  return (
    <>
      <BaseEdge
        path={path}
        style={style}
        {...(markerEnd && { markerEnd })}
        {...(interactionWidth && { interactionWidth })}
      />
      {(label || actions) && (
        <EdgeLabelRenderer>
          <div
            className={`edge-label nodrag nopan ${isAtExit ? `at-exit ${flow}` : ''}`}
            style={{ transform: `translate(${left}, ${top}) translate(${x}px, ${y}px)` }}
          >
            {label && (
              <span className="edge-name" title={String(label)}>
                {label}
              </span>
            )}
            {actions && (
              <button
                type="button"
                className="add-here"
                tabIndex={-1}
                aria-label="Add a step here"
                title="Add a step here"
                onClick={() => actions.onAddBetween(id)}
              >
                <Icon name="plus" size={12} />
              </button>
            )}
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
}

/** The part of the name of an edge that lies at its point, where that is at the exit. */
const anchorAtExit = { down: ['-50%', '0'], right: ['0', '-50%'] } as const;

/** The point at which the name of an exit stands that leads nowhere. */
function pointAtExit({ sourceX, sourceY }: EdgeProps, flow: Flow): Point {
  return flow === 'down' ? { x: sourceX, y: sourceY + FROM_EXIT } : { x: sourceX + FROM_EXIT, y: sourceY };
}

const FROM_EXIT = 2;

/** The path of an edge, and where its name stands: for a long one before the first rank of cards that it passes. */
function wayOf(edge: EdgeProps): { path: string; x: number; y: number } {
  const points = edge.data?.points as readonly Point[] | undefined;
  const [first] = points ?? [];
  if (!points || !first) {
    const [path, x, y] = getBezierPath(edge);
    return { path, x, y };
  }
  const { sourceX, sourceY } = edge;
  return { path: pathBy(edge, points), x: (sourceX + first.x) / 2, y: (sourceY + first.y) / 2 };
}

/**
 * Shows the graph as a whole, or its beginning: at first, and again when its place has become much narrower or wider, as when a
 * telephone is turned.
 */
function FitToWidth({ smallest }: { smallest: number | undefined }) {
  const hundreds = useStore(({ width }) => Math.round(width / 100));
  const isReady = useNodesInitialized();
  const fitted = useRef(0);
  const show = useShowGraph();
  useEffect(() => {
    // A step that is added is measured as well: the view stays then.
    if (hundreds === 0 || !isReady || fitted.current === hundreds) return;
    fitted.current = hundreds;
    show(smallest);
  }, [hundreds, isReady, show, smallest]);
  return null;
}

/** Also where the whole cannot be read: that is asked for here. */
function ShowAll() {
  const show = useShowGraph();
  return (
    <ControlButton title="Fit View" aria-label="Fit View" onClick={() => show(0)}>
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d="M3 3h7v3H6v4H3zM14 3h7v7h-3V6h-4zM3 14h3v4h4v3H3zM18 14h3v7h-7v-3h4z" />
      </svg>
    </ControlButton>
  );
}

/** The sides of a node by which edges come and go. */
export const sides = {
  down: { target: Position.Top, source: Position.Bottom },
  right: { target: Position.Left, source: Position.Right },
} as const satisfies Record<Flow, object>;

/** Handles of a card, told to React Flow before the card is drawn: edges may lead to cards that are not in view. */
export function handlesOf(exits: readonly { id: string }[], flow: Flow, { width, height } = CARD): NodeHandle[] {
  const size = { width: HANDLE, height: HANDLE };
  const at = (x: number, y: number) => ({ x: x - HANDLE / 2, y: y - HANDLE / 2 });
  const { target, source } = sides[flow];
  const into = flow === 'down' ? at(width / 2, 0) : at(0, height / 2);
  return [
    { type: 'target', position: target, ...into, ...size },
    ...exits.map(({ id }, index): NodeHandle => {
      const part = partOfSide(exits, index);
      const outOf = flow === 'down' ? at(width * part, height) : at(width, height * part);
      return { id, type: 'source', position: source, ...outOf, ...size };
    }),
  ];
}

const CARD = { width: WIDTH, height: HEIGHT };
const HANDLE = 11;
