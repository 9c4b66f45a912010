import type { Node, NodeProps } from '@xyflow/react';
import { useMemo, useRef } from 'react';
import type { NodeSteps } from '../client/run-steps.ts';
import { type BoxNode, boxNode } from '../graph/box.tsx';
import { StepCard } from '../graph/card.tsx';
import { type ShownExit, shownExits, splitExits } from '../graph/exits.ts';
import { type Kinds, wordsOf } from '../graph/kinds.ts';
import { type Flow, HEIGHT, type Layout, WIDTH } from '../graph/lay-out.ts';
import type { Point } from '../graph/shown.ts';
import { type Named, summaryOf } from '../graph/summary.ts';
import { handlesOf, sides } from '../graph/view.tsx';
import { countOf } from '../ui/count.ts';
import { Status, wordOf } from '../ui/status.tsx';
import { type Draft, type DraftNode, nameOf } from './draft.ts';

interface ShownParts {
  kinds: Kinds;
  line: string;
  faults: number;
  exits: readonly ShownExit[];
  tested: NodeSteps | undefined;
  flow: Flow;
}
interface Shown extends ShownParts, Record<string, unknown> {
  node: DraftNode;
}
export type StepNode = Node<Shown, 'step'>;
interface Props {
  draft: Draft;
  kinds: Kinds;
  layout: Layout;
  named: Named;
  selection: ReadonlySet<string>;
  faults: ReadonlyMap<string, ReadonlyMap<string, string>>;
  tested: ReadonlyMap<string, NodeSteps>;
  isReadOnly: boolean;
}

/** Nodes whose parts are the same are the same objects, so that they are not drawn again. */
export function useStepNodes({
  draft,
  kinds,
  layout,
  named,
  selection,
  faults,
  tested,
  isReadOnly,
}: Props): StepNode[] {
  const known = useRef(new Map<string, { parts: readonly unknown[]; node: StepNode }>());
  return useMemo(() => {
    const leaving = Map.groupBy(draft.edges, ({ source }) => source);
    const next: typeof known.current = new Map();
    const nodes = draft.nodes.map((node) => {
      const all = shownExits(node, leaving.get(node.id) ?? [], kinds);
      const exits = layout.boxes.has(node.id) ? splitExits(all, kinds[node.type]?.bodyExit).card : all;
      const position = layout.positions.get(node.id) ?? { x: 0, y: 0 };
      const own = {
        line: summaryOf(node.type, node.data, named),
        faults: faults.get(node.id)?.size ?? 0,
        tested: tested.get(node.id),
        isSelected: selection.has(node.id),
      };
      const parts = [
        ...[node.data, node.type, own.line, own.faults, own.tested, own.isSelected, isReadOnly, layout.flow],
        ...[position.x, position.y, JSON.stringify(exits)],
      ];
      const before = known.current.get(node.id);
      const isSame = before?.parts.every((part, index) => part === parts[index]);
      const shown =
        before && isSame ? before.node : stepNode(node, { kinds, exits, position, flow: layout.flow, ...own });
      next.set(node.id, { parts, node: shown });
      return shown;
    });
    known.current = next;
    return nodes;
  }, [draft, kinds, layout, named, selection, faults, tested, isReadOnly]);
}

type StepParts = ShownParts & { isSelected: boolean; position: Point };

function stepNode(node: DraftNode, { isSelected, position, ...shown }: StepParts): StepNode {
  const { word } = wordsOf(node.type, shown.kinds[node.type]);
  const said = [
    ...[nameOf(node), word],
    ...(shown.faults > 0 ? [countOf(shown.faults, 'fault')] : []),
    ...(shown.tested ? [`last test: ${wordOf(shown.tested.shown.status)}`] : []),
  ];
  return {
    ...{ id: node.id, type: 'step', position, selected: isSelected, data: { node, ...shown } },
    // Edges are drawn anew when these change.
    ...{ sourcePosition: sides[shown.flow].source, targetPosition: sides[shown.flow].target },
    ...{ width: WIDTH, height: HEIGHT, measured: { width: WIDTH, height: HEIGHT } },
    handles: handlesOf(shown.exits, shown.flow),
    ariaLabel: said.join(', '),
  };
}

export function boxNodes(
  boxes: Layout['boxes'],
  { draft, kinds, layout }: Pick<Props, 'draft' | 'kinds' | 'layout'>,
): BoxNode[] {
  if (boxes.size === 0) return [];
  const steps = new Map(draft.nodes.map((node) => [node.id, node]));
  return [...boxes].flatMap(([id, box]) => {
    const step = steps.get(id);
    if (!step) return [];
    const own = draft.edges.filter(({ source }) => source === id);
    const exits = splitExits(shownExits(step, own, kinds), kinds[step.type]?.bodyExit).box;
    return [boxNode(id, box, exits, layout.flow)];
  });
}

export function Step({ id, data: { node, kinds, line, faults, exits, tested, flow } }: NodeProps<StepNode>) {
  const words = wordsOf(node.type, kinds[node.type]);
  return (
    <StepCard
      id={id}
      title={nameOf(node)}
      words={words}
      flow={flow}
      tone={faults > 0 ? 'bad' : undefined}
      exits={exits}
      isDisabled={node.data.isDisabled === true}
      begins={kinds[node.type]?.begins}
      line={line}
    >
      {faults > 0 ? (
        <span className="status" data-tone="bad">
          {countOf(faults, 'fault')}
        </span>
      ) : (
        tested && <Status of={tested.shown.status} />
      )}
    </StepCard>
  );
}
