import '@xyflow/react/dist/style.css';
import './graph.css';
import { useComputedColorScheme } from '@mantine/core';
import {
  Background,
  BaseEdge,
  Controls,
  EdgeLabelRenderer,
  type EdgeProps,
  type FitViewOptions,
  getBezierPath,
  MiniMap,
  type Node,
  type NodeHandle,
  Position,
  ReactFlow,
  type ReactFlowProps,
  useNodesInitialized,
  useReactFlow,
  useStore,
  useStoreApi,
} from '@xyflow/react';
import { createContext, memo, type ReactNode, useContext, useEffect, useRef } from 'react';
import { Icon } from '../ui/icon.tsx';
import { partOfSide } from './exits.ts';
import { type Flow, HEIGHT, leadsBack, middleAround, pathAround, pathBy, WIDTH } from './lay-out.ts';
import type { Point } from './shown.ts';
import { coveredWidth } from './workspace.tsx';

const edgeTypes = { default: memo(GraphEdge) };

/** A graph of more steps than these has a small map. */
export const MANY = 30;

const FIT = { maxZoom: 1, minZoom: 0.3, padding: 0.1 };

/** Pixels around a graph beside a panel. */
const MARGIN = 24;

/** Shows the whole graph in the part that a panel of this width leaves free at the left. */
export function fitBeside(covered: number): FitViewOptions {
  if (covered === 0) return FIT;
  return { ...FIT, padding: { x: `${MARGIN}px`, y: `${MARGIN}px`, right: `${covered + MARGIN}px` } };
}

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
  children?: ReactNode;
}

/** A graph to look at and to choose from; what else can be done with it, its props say. */
export function GraphView<N extends Node>({ label, steps, children, ...flow }: ReactFlowProps<N> & Props) {
  const scheme = useComputedColorScheme();
  return (
    <section className="graph" aria-label={label}>
      <ReactFlow colorMode={scheme} fitViewOptions={FIT} minZoom={0.05} maxZoom={1.5} edgeTypes={edgeTypes} {...flow}>
        <Background />
        <Controls showInteractive={false} />
        {steps > MANY && (
          <MiniMap nodeColor="var(--idle)" pannable zoomable ariaLabel="Map of the graph" position="top-left" />
        )}
        <FitToWidth />
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
  const { path, x, y } = isBack ? { path: pathAround(edge, flow), ...middleAround(edge, flow) } : wayOf(edge);
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
            className="edge-label nodrag nopan"
            style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}
          >
            {label && <span className="edge-name">{label}</span>}
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

/** Graphs that would be smaller than this are shown from their beginning. */
const READABLE = { zoom: 0.6, margin: 40 };

/**
 * Shows the whole graph, or the beginning of one that is too large: at first, and again when its place has become much narrower or
 * wider, as when a telephone is turned.
 */
function FitToWidth() {
  const hundreds = useStore(({ width }) => Math.round(width / 100));
  const isReady = useNodesInitialized();
  const store = useStoreApi();
  const fitted = useRef(0);
  const { fitView, getNodes, getNodesBounds, setViewport } = useReactFlow();
  useEffect(() => {
    // A step that is added is measured as well: the view stays then.
    if (hundreds === 0 || !isReady || fitted.current === hundreds) return;
    fitted.current = hundreds;
    const { width: whole, height } = store.getState();
    const covered = coveredWidth();
    const width = whole - covered;
    const nodes = getNodes();
    const all = getNodesBounds(nodes);
    const [first] = nodes.toSorted((one, other) => distanceOf(one) - distanceOf(other));
    const isToTheRight = first?.sourcePosition === Position.Right;
    const fits = (isToTheRight ? width / all.width : height / all.height) > FIT.minZoom;
    if (!first || fits) return void fitView(fitBeside(covered));
    const { zoom, margin } = READABLE;
    const { x, y } = first.position;
    void setViewport({
      zoom,
      x: isToTheRight ? margin - x * zoom : width / 2 - (x + (first.width ?? 0) / 2) * zoom,
      y: isToTheRight ? height / 2 - (y + (first.height ?? 0) / 2) * zoom : margin - y * zoom,
    });
  }, [hundreds, isReady, store, fitView, getNodes, getNodesBounds, setViewport]);
  return null;
}

function distanceOf({ position: { x, y } }: Node): number {
  return x + y;
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
