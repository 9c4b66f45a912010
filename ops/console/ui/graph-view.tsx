import '@xyflow/react/dist/style.css';
import { useComputedColorScheme } from '@mantine/core';
import {
  Background,
  BaseEdge,
  BezierEdge,
  Controls,
  type EdgeProps,
  Handle,
  type Node,
  Position,
  ReactFlow,
  type ReactFlowProps,
  useReactFlow,
  useStore,
} from '@xyflow/react';
import { type ReactNode, useEffect } from 'react';
import { type Flow, leadsBack, pathAround } from './lay-out.ts';
import type { Tone } from './status.tsx';

const edgeTypes = { default: GraphEdge };

const FIT = { maxZoom: 1, minZoom: 0.3 };

/** A graph to look at and to choose from; what else can be done with it, its props say. */
export function GraphView<N extends Node>({ label, ...flow }: ReactFlowProps<N> & { label: string }) {
  const scheme = useComputedColorScheme();
  return (
    <section className="graph" aria-label={label}>
      <ReactFlow
        colorMode={scheme}
        fitView
        fitViewOptions={FIT}
        minZoom={0.05}
        edgeTypes={edgeTypes}
        preventScrolling={false}
        {...flow}
      >
        <Background />
        <Controls showInteractive={false} />
        <FitToWidth />
      </ReactFlow>
    </section>
  );
}

function GraphEdge(edge: EdgeProps) {
  const flow = edge.sourcePosition === Position.Right ? 'right' : 'down';
  if (!leadsBack(edge, flow)) return <BezierEdge {...edge} />;
  const { style = {}, markerEnd, interactionWidth } = edge;
  return (
    <BaseEdge
      path={pathAround(edge, flow)}
      style={style}
      {...(markerEnd && { markerEnd })}
      {...(interactionWidth && { interactionWidth })}
    />
  );
}

/** Shows the whole graph again when its place has become much narrower or wider, as when a telephone is turned. */
function FitToWidth() {
  const hundreds = useStore(({ width }) => Math.round(width / 100));
  const { fitView } = useReactFlow();
  useEffect(() => {
    if (hundreds > 0) void fitView(FIT);
  }, [hundreds, fitView]);
  return null;
}

/** The sides of a node by which edges come and go. */
export const handles = {
  down: { target: Position.Top, source: Position.Bottom },
  right: { target: Position.Left, source: Position.Right },
} as const satisfies Record<Flow, object>;

interface BoxProps {
  title: string;
  flow: Flow;
  tone: Tone | 'none' | undefined;
  /** Edges can be drawn from it and to it. */
  editable?: boolean;
  children: ReactNode;
}

/** A node of a graph: its title, and its state or kind. */
export function NodeBox({ title, flow, tone, editable = false, children }: BoxProps) {
  const { target, source } = handles[flow];
  return (
    <div className={editable ? 'node editable' : 'node'} data-tone={tone}>
      <Handle type="target" position={target} isConnectable={editable} />
      <strong title={title}>{title}</strong>
      {children}
      <Handle type="source" position={source} isConnectable={editable} />
    </div>
  );
}
