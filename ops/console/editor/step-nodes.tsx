import type { Node, NodeProps } from '@xyflow/react';
import { useMemo, useRef } from 'react';
import type { NodeSteps } from '../client/run-steps.ts';
import { type CardData, cardNode, StepCard } from '../graph/card.tsx';
import type { Drawing } from '../graph/drawing.ts';
import { type Kinds, wordsOf } from '../graph/kinds.ts';
import { type Named, summaryOf } from '../graph/summary.ts';
import { countOf } from '../ui/count.ts';
import { Status, wordOf } from '../ui/status.tsx';
import { type Draft, type DraftNode, type Faults, nameOf } from './draft.ts';
import type { Tested } from './test-results.tsx';

interface Shown extends CardData {
  node: DraftNode;
  kinds: Kinds;
  line: string;
  faults: number;
  tested: NodeSteps | undefined;
}
export type StepNode = Node<Shown, 'step'>;
interface Props {
  draft: Draft;
  kinds: Kinds;
  drawing: Drawing;
  named: Named;
  selection: ReadonlySet<string>;
  faults: Faults;
  tested: Tested;
}

/** Nodes whose parts are the same are the same objects, so that they are not drawn again. */
export function useStepNodes({
  draft,
  kinds,
  drawing: { layout, exits },
  named,
  selection,
  faults,
  tested,
}: Props): StepNode[] {
  const known = useRef(new Map<string, { parts: readonly unknown[]; node: StepNode }>());
  return useMemo(() => {
    const { flow } = layout;
    const next: typeof known.current = new Map();
    const nodes = draft.nodes.map((node) => {
      const own = exits.get(node.id)?.card ?? [];
      const line = summaryOf(node.type, node.data, named);
      const count = faults.get(node.id)?.size ?? 0;
      const result = tested.get(node.id);
      const position = layout.positions.get(node.id);
      const isSelected = selection.has(node.id);
      const parts = [
        ...[node.data, node.type, line, count, result, isSelected, flow],
        ...[position?.x, position?.y, JSON.stringify(own)],
      ];
      const before = known.current.get(node.id);
      const isSame = before?.parts.every((part, index) => part === parts[index]);
      const data: Shown = { node, kinds, line, faults: count, exits: own, tested: result, flow };
      const shown =
        before && isSame ? before.node : cardNode(node.id, data, { position, isSelected, label: labelOf(data) });
      next.set(node.id, { parts, node: shown });
      return shown;
    });
    known.current = next;
    return nodes;
  }, [draft.nodes, kinds, layout, exits, named, selection, faults, tested]);
}

/** The name of a step for screen readers. */
function labelOf({ node, kinds, faults, tested }: Shown): string {
  const { word } = wordsOf(node.type, kinds[node.type]);
  return [
    ...[nameOf(node), word],
    ...(faults > 0 ? [countOf(faults, 'fault')] : []),
    ...(tested ? [`last test: ${wordOf(tested.shown.status)}`] : []),
  ].join(', ');
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
