import type { Edge, Node, NodeChange, NodeProps } from '@xyflow/react';
import { memo, useCallback, useEffect, useMemo, useState } from 'react';
import { type FailedItems, failedItemsOf, type NodeSteps } from '../client/run-steps.ts';
import type { Run } from '../client/types.ts';
import { BodyBox, boxNodes } from '../graph/box.tsx';
import { type CardData, cardNode, StepCard } from '../graph/card.tsx';
import { type Drawing, drawingOf } from '../graph/drawing.ts';
import { drawnEdges } from '../graph/edges.ts';
import { type Kinds, wordsOf as wordsOfKind } from '../graph/kinds.ts';
import { resultLine } from '../graph/result-line.ts';
import { resultName } from '../graph/result-name.ts';
import { type Named, summaryOf } from '../graph/summary.ts';
import { useNamed } from '../graph/use-named.ts';
import { GraphView } from '../graph/view.tsx';
import { Views } from '../graph/views.tsx';
import { Icon } from '../ui/icon.tsx';
import { Status, type Tone, toneOf, wordOf } from '../ui/status.tsx';
import type { GraphNode, Graph as GraphOfRun } from './graph-of.ts';
import { takenEdges } from './taken.ts';

interface Shown extends CardData {
  node: GraphNode;
  steps: NodeSteps | undefined;
  items: FailedItems | undefined;
  kinds: Kinds;
  named: Named;
}
type ShownNode = Node<Shown, 'step'>;

const nodeTypes = { step: memo(StepNode), box: memo(BodyBox) };

/** The graph of the version that ran, with what became of its nodes. */
export function Graph({
  tenantID,
  graph,
  nodes,
  maps,
  kinds,
  selected,
  onSelect,
}: {
  tenantID: string;
  graph: GraphOfRun;
  nodes: readonly NodeSteps[];
  /** Those of the run that have items. */
  maps: Run['maps'];
  kinds: Kinds | undefined;
  selected: string | undefined;
  onSelect: (step: string) => void;
}) {
  const named = useNamed(tenantID, graph.nodes);
  const drawing = useMemo(() => drawingOfRun(graph, kinds ?? none), [graph, kinds]);
  const byID = useMemo(() => new Map(nodes.map((one) => [one.nodeID, one])), [nodes]);
  const failedItems = useMemo(() => failedItemsOf(maps), [maps]);
  const selectedID = selected?.split('@')[0];
  const shown = useMemo(
    () => [
      ...boxNodes(drawing.layout.boxes, drawing),
      ...graph.nodes.map((node) => {
        const steps = byID.get(node.id);
        const items = failedItems.get(node.id);
        return stepNode(node, { drawing, named, steps, items, isSelected: node.id === selectedID });
      }),
    ],
    [graph, byID, failedItems, drawing, named, selectedID],
  );
  const edges = useMemo(() => {
    const withItems = new Set(maps?.flatMap(({ nodeID, total }) => (total > 0 ? [nodeID] : [])));
    const taken = takenEdges({ graph, nodes: byID, kinds, maps: withItems });
    return drawing.edges.map((edge) => asEdge(edge, taken.has(edge.id), byID.get(edge.target)));
  }, [graph, byID, kinds, maps, drawing]);
  // Where the run was when the page was opened: the view does not follow it, since someone looks at it.
  const [begun, setBegun] = useState(() => nodes.findLast(({ shown }) => isUnderWay.has(shown.status))?.nodeID);
  useEffect(() => {
    if (selectedID !== undefined) setBegun(undefined);
  }, [selectedID]);
  const soughtID = selectedID ?? begun;
  const sought = useMemo(() => (soughtID === undefined ? undefined : { id: soughtID }), [soughtID]);
  // Also chosen by keyboard, which clicks do not tell.
  const onNodesChange = useCallback(
    (changes: NodeChange[]) => {
      const change = changes.find((one) => one.type === 'select' && one.selected);
      if (change?.type !== 'select' || change.id === selectedID) return;
      onSelect(byID.get(change.id)?.shown.key ?? change.id);
    },
    [byID, onSelect, selectedID],
  );
  return (
    <GraphView
      label="Graph of the run; the timeline lists the same steps"
      steps={graph.nodes.length}
      smallest={READABLE}
      nodes={shown}
      edges={edges}
      nodeTypes={nodeTypes}
      onNodesChange={onNodesChange}
      nodesDraggable={false}
      nodesConnectable={false}
      edgesFocusable={false}
      deleteKeyCode={null}
    >
      <Views sought={sought} positions={drawing.layout.positions} />
    </GraphView>
  );
}

interface DrawingOfRun extends Drawing {
  edges: Edge[];
  kinds: Kinds;
}

/** The same drawing as in the editor, of the version that ran. */
function drawingOfRun({ nodes, edges }: GraphOfRun, kinds: Kinds): DrawingOfRun {
  const graph = {
    nodes: nodes.map(({ id, kind: type, data, position }) => ({ id, type, data, position })),
    edges: edges.map(({ id, source, target, exit }) => ({ id, source, target, sourceHandle: exit ?? null })),
  };
  const drawing = drawingOf(graph, kinds);
  return { ...drawing, edges: drawnEdges(drawing, kinds), kinds };
}

/** Titles of smaller cards cannot be read without enlarging them. */
const READABLE = 0.6;

const isUnderWay: ReadonlySet<string> = new Set(['RUNNING', 'SUSPENDED']);

/** Callers who may not list kinds see exits by their names alone. */
const none: Kinds = {};

interface StepParts {
  drawing: DrawingOfRun;
  named: Named;
  steps: NodeSteps | undefined;
  items: FailedItems | undefined;
  isSelected: boolean;
}

function stepNode(node: GraphNode, { drawing, named, steps, items, isSelected }: StepParts): ShownNode {
  const { layout, exits, kinds } = drawing;
  const state = steps ? wordOf(steps.shown.status) : 'not reached';
  const { word } = wordsOfKind(node.kind, kinds[node.kind]);
  const shown = { node, steps, items, exits: exits.get(node.id)?.card ?? [], flow: layout.flow, kinds, named };
  const label = [node.title, word, state, ...(items ? [wordsOf(items)] : [])].join(', ');
  return cardNode(node.id, shown, { position: layout.positions.get(node.id), isSelected, label });
}

function StepNode({ id, data: { node, steps, items, exits, flow, kinds, named } }: NodeProps<ShownNode>) {
  const tone: Tone | 'none' = steps ? toneIn(steps, items) : 'none';
  return (
    <StepCard
      id={id}
      title={node.title}
      words={wordsOfKind(node.kind, kinds[node.kind])}
      flow={flow}
      tone={tone}
      exits={exits}
      isDisabled={node.data.isDisabled === true}
      line={summaryOf(node.kind, node.data, named)}
    >
      {steps && <State steps={steps} items={items} />}
      {steps && <Brief steps={steps} name={resultName(kinds[node.kind], node.data)} />}
    </StepCard>
  );
}

/** A map that went on although items have failed is no plain success. */
function toneIn({ shown }: NodeSteps, items: FailedItems | undefined): Tone {
  return items && shown.status === 'SUCCESS' ? 'wait' : toneOf(shown.status);
}

function wordsOf({ failed, total }: FailedItems): string {
  return `${failed.toLocaleString()} of ${total.toLocaleString()} failed`;
}

/** How many rows a step gave, or a short value, as in the editor after a test. */
function Brief({ steps, name }: { steps: NodeSteps; name: string | undefined }) {
  const brief = steps.steps.length === 1 ? resultLine(steps, name).brief : '';
  return brief !== '' && <span className="node-result">{brief}</span>;
}

function State({ steps: { shown, steps, failed }, items }: { steps: NodeSteps; items: FailedItems | undefined }) {
  if (items && shown.status === 'SUCCESS')
    return (
      <span className="status" data-tone="wait">
        <Icon name="cross" />
        {wordsOf(items)}
      </span>
    );
  return (
    <>
      <Status of={shown.status} />
      {items && `, ${wordsOf(items)}`}
      {steps.length > 1 && ` × ${steps.length.toLocaleString()}`}
      {failed > 0 && steps.length > 1 && `, ${failed.toLocaleString()} failed`}
    </>
  );
}

function asEdge(edge: Edge, isTaken: boolean, begun: NodeSteps | undefined): Edge {
  return {
    ...edge,
    animated: begun?.shown.status === 'RUNNING',
    style: {
      stroke: isTaken ? 'var(--busy)' : 'var(--idle)',
      strokeWidth: isTaken ? 2 : 1,
      opacity: isTaken ? 1 : 0.6,
    },
  };
}
