import {
  type Connection,
  type Edge,
  type EdgeChange,
  type FinalConnectionState,
  type NodeChange,
  ReactFlowProvider,
  useReactFlow,
} from '@xyflow/react';
import { memo, useMemo, useRef, useState } from 'react';
import { BodyBox, type BoxNode, boxNodes } from '../graph/box.tsx';
import { stepOfNode } from '../graph/box-id.ts';
import type { Drawing } from '../graph/drawing.ts';
import { drawnEdges } from '../graph/edges.ts';
import type { Kinds } from '../graph/kinds.ts';
import { boxesOf, HEIGHT, type Layout, WIDTH } from '../graph/lay-out.ts';
import { type Bodies, mayConnect, withBody } from '../graph/shape.ts';
import type { Point } from '../graph/shown.ts';
import type { Named } from '../graph/summary.ts';
import { EditedGraph, GraphView, MANY } from '../graph/view.tsx';
import { Views } from '../graph/views.tsx';
import { plannedEdges } from '../plan/edges.ts';
import type { Plan, PlannedCard } from '../plan/planned.ts';
import { type Draft, type Faults, withEdge, withoutEdge } from './draft.ts';
import { type Where, withPositions } from './edits.ts';
import { type Marks, markedEdges } from './marks.ts';
import { CanvasNote, type NoteNode, noteNode } from './note.tsx';
import { withNotePositions } from './notes.ts';
import { Step, type StepNode, useStepNodes } from './step-nodes.tsx';
import type { Tested } from './test-results.tsx';

/** While steps are dragged, their edges lead straight to them. */
const noWays: Layout['ways'] = new Map();

type ShownNode = StepNode | BoxNode | NoteNode;

const nodeTypes = { step: memo(Step), box: memo(BodyBox), note: memo(CanvasNote) };

const selectionKeys = ['Shift'];
const multiSelectionKeys = ['Control', 'Meta'];

export interface CanvasProps {
  draft: Draft;
  /** The same while only texts of steps change. */
  drawing: Drawing;
  kinds: Kinds;
  named: Named;
  selection: ReadonlySet<string>;
  faults: Faults;
  /** Results of the steps in the last test. */
  tested: Tested;
  /** Steps that would have other results now. */
  outdated: ReadonlySet<string>;
  /** Words for the cards, while a plan is shown. */
  planned: ReadonlyMap<string, PlannedCard> | undefined;
  plan: Plan | undefined;
  /** Parts of the graph that a proposed change adds, changes or removes, while it is shown. */
  marks: Marks | undefined;
  /** A step to bring into view, once. */
  sought: { id: string } | undefined;
  /** Another number shows the whole graph. */
  tidied: number;
  isReadOnly: boolean;
  onSelect: (ids: ReadonlySet<string>) => void;
  /** A step is to be brought out from behind the panel. */
  onSeek: (id: string) => void;
  onChange: (change: (draft: Draft) => Draft) => void;
  onAdd: (where: Where) => void;
}

/** The graph: steps are chosen, moved and connected. All but the moving can be done without it, by the panel of a step. */
export function Canvas(props: CanvasProps) {
  return (
    <ReactFlowProvider>
      <EditedCanvas {...props} />
    </ReactFlowProvider>
  );
}

function EditedCanvas(props: CanvasProps) {
  const { draft, drawing, kinds, selection, marks, onSelect, onChange, onAdd } = props;
  // A graph with a proposed change in it is no draft yet.
  const isReadOnly = props.isReadOnly || marks !== undefined;
  const { bodies, layout } = drawing;
  const [moved, setMoved] = useState<ReadonlyMap<string, Point>>();
  const steps = useStepNodes(props);
  const latest = useRef(props);
  latest.current = props;
  const notes = useMemo(
    () =>
      draft.notes.map((note) =>
        noteNode(note, {
          position: moved?.get(note.id) ?? note.position,
          isSelected: selection.has(note.id),
          isReadOnly,
          onChange: (change) => latest.current.onChange(change),
        }),
      ),
    [draft.notes, moved, selection, isReadOnly],
  );
  const nodes = useMemo((): ShownNode[] => {
    const shown = moved
      ? steps.map((node) => {
          const position = moved.get(node.id);
          return position ? { ...node, position } : node;
        })
      : steps;
    const boxes = moved ? boxesOf(bodies, new Map([...layout.positions, ...moved])) : layout.boxes;
    return [...boxNodes(boxes, drawing), ...notes, ...shown];
  }, [steps, notes, moved, drawing, bodies, layout]);
  const isMoving = moved !== undefined;
  const edges = useMemo(
    () => drawnEdges(isMoving ? { ...drawing, layout: { ...layout, ways: noWays } } : drawing, kinds),
    [drawing, layout, kinds, isMoving],
  );
  const { plan } = props;
  const ways = useMemo(() => {
    if (marks) return markedEdges(edges, marks);
    return plan ? plannedEdges(edges, plan) : edges;
  }, [edges, plan, marks]);
  const [chosenEdges, setChosenEdges] = useState<ReadonlySet<string>>(new Set());
  const shownEdges = useMemo(
    () => (chosenEdges.size > 0 ? ways.map((edge) => ({ ...edge, selected: chosenEdges.has(edge.id) })) : ways),
    [ways, chosenEdges],
  );
  const onNodesChange = (changes: NodeChange<ShownNode>[]) => {
    const next = selectedAfter(selection, changes);
    if (next !== selection) onSelect(next);
    if (isReadOnly) return;
    const moves = changes.filter((change) => change.type === 'position');
    const positions = new Map(moves.flatMap(({ id, position }) => (position ? [[id, position] as const] : [])));
    if (positions.size === 0) return;
    const all = withBodies(positions, { bodies, from: layout.positions });
    if (moves.some(({ dragging }) => dragging)) setMoved(all);
    else {
      setMoved(undefined);
      onChange((old) => withNotePositions(withPositions(old, kinds, all), all));
    }
  };
  const link = ({ source, target, sourceHandle }: Connection | Edge) => ({
    ...{ source: stepOfNode(source), target: stepOfNode(target), exit: sourceHandle ?? 'output' },
  });
  const positions = useMemo(
    () => new Map([...layout.positions, ...draft.notes.map(({ id, position }) => [id, position] as const)]),
    [layout.positions, draft.notes],
  );
  const { screenToFlowPosition } = useReactFlow();
  const onConnectEnd = (event: MouseEvent | TouchEvent, { isValid, fromHandle, toNode }: FinalConnectionState) => {
    if (isValid || toNode || fromHandle?.type !== 'source') return;
    const { clientX, clientY } =
      'changedTouches' in event ? (event.changedTouches[0] ?? { clientX: 0, clientY: 0 }) : event;
    const { x, y } = screenToFlowPosition({ x: clientX, y: clientY });
    const at = layout.flow === 'down' ? { x: x - WIDTH / 2, y } : { x, y: y - HEIGHT / 2 };
    onAdd({ from: { id: stepOfNode(fromHandle.nodeId), exit: fromHandle.id ?? 'output' }, at });
  };
  const actions = useMemo(
    () => ({
      onAddBehind: (id: string, exit: string) => latest.current.onAdd({ from: { id, exit } }),
      onAddBetween: (edge: string) => latest.current.onAdd({ edge }),
    }),
    [],
  );
  return (
    <EditedGraph.Provider value={isReadOnly ? undefined : actions}>
      <GraphView
        label="Graph of the workflow; the list of steps below has the same steps"
        steps={draft.nodes.length}
        className={isReadOnly ? '' : 'editable-graph'}
        nodes={nodes}
        edges={shownEdges}
        nodeTypes={nodeTypes}
        nodesConnectable={!isReadOnly}
        nodesDraggable={!isReadOnly}
        // Each move of one step would be told to all of them; the list of steps has those that are not drawn.
        onlyRenderVisibleElements={draft.nodes.length > MANY}
        onNodesChange={onNodesChange}
        onNodeClick={(_, { id }) => props.onSeek(id)}
        onEdgesChange={(changes) => setChosenEdges((before) => selectedAfter(before, changes))}
        onEdgesDelete={(removed) => onChange((old) => removed.reduce((left, { id }) => withoutEdge(left, id), old))}
        onBeforeDelete={async ({ edges: chosen }) => ({ nodes: [], edges: chosen.filter(({ selected }) => selected) })}
        onConnect={(connection) => onChange((old) => withEdge(old, link(connection)))}
        onConnectEnd={onConnectEnd}
        isValidConnection={(connection) => mayConnect(draft, kinds, link(connection))}
        connectionRadius={32}
        selectionKeyCode={selectionKeys}
        multiSelectionKeyCode={multiSelectionKeys}
        deleteKeyCode={isReadOnly ? null : 'Delete'}
        minZoom={0.05}
      >
        <Views sought={props.sought} tidied={props.tidied} positions={positions} />
      </GraphView>
    </EditedGraph.Provider>
  );
}

/** Steps in the body of a step move with it. */
function withBodies(
  positions: ReadonlyMap<string, Point>,
  { bodies, from }: { bodies: Bodies; from: ReadonlyMap<string, Point> },
): ReadonlyMap<string, Point> {
  const all = new Map(positions);
  for (const [id, position] of positions) {
    const before = from.get(id);
    if (!before || !bodies.containers.has(id)) continue;
    for (const inner of withBody(id, bodies)) {
      const at = from.get(inner);
      if (inner === id || positions.has(inner) || !at) continue;
      all.set(inner, { x: at.x + position.x - before.x, y: at.y + position.y - before.y });
    }
  }
  return all;
}

/** The same set, unless something is selected now that was not, or the other way round. */
function selectedAfter(
  before: ReadonlySet<string>,
  changes: readonly (NodeChange | EdgeChange)[],
): ReadonlySet<string> {
  const next = new Set(before);
  for (const change of changes) {
    if (change.type !== 'select') continue;
    if (change.selected) next.add(change.id);
    else next.delete(change.id);
  }
  return next.symmetricDifference(before).size > 0 ? next : before;
}
