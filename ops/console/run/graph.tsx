import type { Edge, Node, NodeChange, NodeProps } from '@xyflow/react';
import { useCallback, useMemo } from 'react';
import { type FailedItems, failedItemsOf, type NodeSteps } from '../client/run-steps.ts';
import type { Run } from '../client/types.ts';
import { GraphView, NodeBox } from '../ui/graph-view.tsx';
import { Icon } from '../ui/icon.tsx';
import { HEIGHT, layOut, WIDTH } from '../ui/lay-out.ts';
import { Status, type Tone, toneOf, wordOf } from '../ui/status.tsx';
import type { GraphNode, Graph as GraphOfRun } from './graph-of.ts';
import { type Exits, takenEdges } from './taken.ts';

interface Shown extends Record<string, unknown> {
  node: GraphNode;
  steps: NodeSteps | undefined;
  items: FailedItems | undefined;
}
type ShownNode = Node<Shown, 'step'>;

const nodeTypes = { step: StepNode };

/** The graph of the version that ran, with what became of its nodes. */
export function Graph({
  graph,
  nodes,
  maps,
  kinds,
  selected,
  onSelect,
}: {
  graph: GraphOfRun;
  nodes: readonly NodeSteps[];
  /** Those of the run that have items. */
  maps: Run['maps'];
  kinds: Readonly<Record<string, Exits>> | undefined;
  selected: string | undefined;
  onSelect: (step: string) => void;
}) {
  const positions = useMemo(() => layOut(graph), [graph]);
  const byID = useMemo(() => new Map(nodes.map((one) => [one.nodeID, one])), [nodes]);
  const failedItems = useMemo(() => failedItemsOf(maps), [maps]);
  const selectedID = selected?.split('@')[0];
  const shown = useMemo(
    () =>
      graph.nodes.map((node): ShownNode => {
        const steps = byID.get(node.id);
        const items = failedItems.get(node.id);
        const state = steps ? wordOf(steps.shown.status) : 'not reached';
        return {
          id: node.id,
          type: 'step',
          position: positions.get(node.id) ?? { x: 0, y: 0 },
          data: { node, steps, items },
          selected: node.id === selectedID,
          ariaLabel: [node.title, node.kind, state, ...(items ? [wordsOf(items)] : [])].join(', '),
          width: WIDTH,
          height: HEIGHT,
        };
      }),
    [graph, byID, failedItems, positions, selectedID],
  );
  const edges = useMemo(() => {
    const withItems = new Set(maps?.flatMap(({ nodeID, total }) => (total > 0 ? [nodeID] : [])));
    const taken = takenEdges({ graph, nodes: byID, kinds, maps: withItems });
    return graph.edges.map((edge) => asEdge(edge, taken.has(edge.id), byID.get(edge.target)));
  }, [graph, byID, kinds, maps]);
  // Also chosen by keyboard, which clicks do not tell.
  const onNodesChange = useCallback(
    (changes: NodeChange<ShownNode>[]) => {
      const change = changes.find((one) => one.type === 'select' && one.selected);
      if (change?.type !== 'select' || change.id === selectedID) return;
      onSelect(byID.get(change.id)?.shown.key ?? change.id);
    },
    [byID, onSelect, selectedID],
  );
  return (
    <GraphView
      label="Graph of the run; the timeline lists the same steps"
      nodes={shown}
      edges={edges}
      nodeTypes={nodeTypes}
      onNodesChange={onNodesChange}
      nodesDraggable={false}
      nodesConnectable={false}
      edgesFocusable={false}
      deleteKeyCode={null}
    />
  );
}

function StepNode({ data: { node, steps, items } }: NodeProps<ShownNode>) {
  const tone: Tone | 'none' = steps ? toneIn(steps, items) : 'none';
  return (
    <NodeBox title={node.title} flow="down" tone={tone}>
      {steps ? (
        <State steps={steps} items={items} />
      ) : (
        <span className="status" data-tone="idle">
          {node.kind}
        </span>
      )}
    </NodeBox>
  );
}

/** A map that went on although items have failed is no plain success. */
function toneIn({ shown }: NodeSteps, items: FailedItems | undefined): Tone {
  return items && shown.status === 'SUCCESS' ? 'wait' : toneOf(shown.status);
}

function wordsOf({ failed, total }: FailedItems): string {
  return `${failed.toLocaleString()} of ${total.toLocaleString()} failed`;
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

function asEdge(
  { id, source, target, exit }: GraphOfRun['edges'][number],
  isTaken: boolean,
  begun: NodeSteps | undefined,
): Edge {
  const isNamed = exit !== undefined && !['output', 'success'].includes(exit);
  return {
    id,
    source,
    target,
    ...(isNamed && { label: exit }),
    animated: begun?.shown.status === 'RUNNING',
    style: {
      stroke: isTaken ? 'var(--busy)' : 'var(--idle)',
      strokeWidth: isTaken ? 2 : 1,
      opacity: isTaken ? 1 : 0.6,
    },
  };
}
