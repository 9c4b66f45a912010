import { type Connection, type Edge, MarkerType, type Node, type NodeChange, type NodeProps } from '@xyflow/react';
import { useMemo } from 'react';
import { countOf } from '../ui/count.ts';
import { GraphView, handles, NodeBox } from '../ui/graph-view.tsx';
import { type Flow, flowOf, HEIGHT, WIDTH } from '../ui/lay-out.ts';
import { type Draft, type DraftNode, nameOf, withEdge, withoutEdge, withoutNode } from './draft.ts';

interface Shown extends Record<string, unknown> {
  node: DraftNode;
  faults: number;
  flow: Flow;
}
type ShownNode = Node<Shown, 'step'>;

const nodeTypes = { step: StepNode };

interface Props {
  draft: Draft;
  selected: string | undefined;
  faults: ReadonlyMap<string, ReadonlyMap<string, string>>;
  onSelect: (id: string | undefined) => void;
  onChange: (change: (draft: Draft) => Draft) => void;
}

/** The graph: nodes are moved, connected and removed. All but the moving can be done without it, by the panel of a node. */
export function Canvas({ draft, selected, faults, onSelect, onChange }: Props) {
  const flow = flowOf(draft);
  const nodes = useMemo(
    () =>
      draft.nodes.map((node): ShownNode => {
        const count = faults.get(node.id)?.size ?? 0;
        return {
          ...{ id: node.id, type: 'step', position: node.position, selected: node.id === selected },
          data: { node, faults: count, flow },
          // Edges are drawn anew when these change.
          ...{ sourcePosition: handles[flow].source, targetPosition: handles[flow].target },
          ariaLabel: `${nameOf(node)}, ${node.type}${count > 0 ? `, ${countOf(count, 'fault')}` : ''}`,
          ...{ width: WIDTH, height: HEIGHT },
        };
      }),
    [draft.nodes, selected, faults, flow],
  );
  const edges = useMemo(
    () =>
      draft.edges.map(({ id, source, target, sourceHandle }): Edge => {
        const label = sourceHandle && !['output', 'success'].includes(sourceHandle) ? { label: sourceHandle } : {};
        return { id, source, target, ...label, markerEnd: { type: MarkerType.ArrowClosed } };
      }),
    [draft.edges],
  );
  const onNodesChange = (changes: NodeChange<ShownNode>[]) => {
    for (const change of changes) {
      if (change.type === 'select' && change.selected) onSelect(change.id);
      if (change.type === 'remove') onChange((old) => withoutNode(old, change.id));
      if (change.type === 'position' && change.position) {
        const { id, position } = change;
        onChange((old) => ({
          ...old,
          nodes: old.nodes.map((node) => (node.id === id ? { ...node, position } : node)),
        }));
      }
    }
  };
  const onConnect = ({ source, target }: Connection) =>
    onChange((old) => withEdge(old, { source, target, exit: null }));
  return (
    <GraphView
      label="Graph of the workflow; the list of steps below has the same nodes"
      nodes={nodes}
      edges={edges}
      nodeTypes={nodeTypes}
      onNodesChange={onNodesChange}
      onEdgesDelete={(removed) => onChange((old) => removed.reduce((left, { id }) => withoutEdge(left, id), old))}
      onConnect={onConnect}
      onPaneClick={() => onSelect(undefined)}
      deleteKeyCode="Delete"
    />
  );
}

function StepNode({ data: { node, faults, flow } }: NodeProps<ShownNode>) {
  return (
    <NodeBox title={nameOf(node)} flow={flow} tone={faults > 0 ? 'bad' : undefined} editable>
      <span className="status" data-tone={faults > 0 ? 'bad' : 'idle'}>
        {faults > 0 ? countOf(faults, 'fault') : node.type}
      </span>
    </NodeBox>
  );
}
