import type { Node, NodeProps } from '@xyflow/react';
import { useMemo, useRef } from 'react';
import type { NodeSteps } from '../client/run-steps.ts';
import { type CardData, cardNode, StepCard } from '../graph/card.tsx';
import type { Drawing } from '../graph/drawing.ts';
import { type Kinds, wordsOf } from '../graph/kinds.ts';
import { resultLine } from '../graph/result-line.ts';
import { resultName } from '../graph/result-name.ts';
import { type Named, summaryOf } from '../graph/summary.ts';
import { filledConfig, type PlannedCard } from '../plan/planned.ts';
import { OUTDATED } from '../testing/outdated.ts';
import { pinOf } from '../testing/pins.ts';
import { countOf } from '../ui/count.ts';
import { Status, wordOf } from '../ui/status.tsx';
import { type Draft, type DraftNode, type Faults, nameOf } from './draft.ts';
import { type Marks, markWords, type StepMark } from './marks.ts';
import type { Tested } from './test-results.tsx';

interface Shown extends CardData {
  node: DraftNode;
  kinds: Kinds;
  line: string;
  faults: number;
  tested: NodeSteps | undefined;
  isOutdated: boolean;
  planned: PlannedCard | undefined;
  mark: StepMark | undefined;
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
  /** Steps that would have other results now. */
  outdated: ReadonlySet<string>;
  /** While a plan is shown. */
  planned: ReadonlyMap<string, PlannedCard> | undefined;
  /** While a proposed change is shown. */
  marks: Marks | undefined;
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
  outdated,
  planned,
  marks,
}: Props): StepNode[] {
  const known = useRef(new Map<string, { parts: readonly unknown[]; node: StepNode }>());
  return useMemo(() => {
    const { flow } = layout;
    const next: typeof known.current = new Map();
    const nodes = draft.nodes.map((node) => {
      const own = exits.get(node.id)?.card ?? [];
      const mark = marks?.steps.get(node.id);
      const card = mark ? undefined : planned?.get(node.id);
      const line = card?.reason ?? summaryOf(node.type, card ? filledConfig(node.data, card.step) : node.data, named);
      const count = faults.get(node.id)?.size ?? 0;
      const result = tested.get(node.id);
      const position = layout.positions.get(node.id);
      const isSelected = selection.has(node.id);
      const isOutdated = outdated.has(node.id);
      const parts = [
        ...[node.data, node.more.pinned, node.type, line, count, result, isOutdated, isSelected, flow, card, mark],
        ...[position?.x, position?.y, JSON.stringify(own)],
      ];
      const before = known.current.get(node.id);
      const isSame = before?.parts.every((part, index) => part === parts[index]);
      const data: Shown = {
        node,
        kinds,
        line,
        faults: count,
        exits: own,
        tested: result,
        isOutdated,
        planned: card,
        mark,
        flow,
      };
      const shown =
        before && isSame ? before.node : cardNode(node.id, data, { position, isSelected, label: labelOf(data) });
      next.set(node.id, { parts, node: shown });
      return shown;
    });
    known.current = next;
    return nodes;
  }, [draft.nodes, kinds, layout, exits, named, selection, faults, tested, outdated, planned, marks]);
}

/** The name of a step for screen readers. */
function labelOf({ node, kinds, faults, tested, isOutdated, planned, mark }: Shown): string {
  const { word } = wordsOf(node.type, kinds[node.type]);
  return [
    ...[nameOf(node), word],
    ...(mark ? [`proposed: ${markWords[mark].word.toLowerCase()}`] : []),
    ...(faults > 0 ? [countOf(faults, 'fault')] : []),
    ...(planned ? [[planned.word, planned.reason].filter(Boolean).join(': ')] : []),
    ...(tested && !planned
      ? [`last test: ${wordsOfResult(tested, node, kinds)}${isOutdated ? ', outdated' : ''}`]
      : []),
    ...(pinOf(node) ? ['pinned'] : []),
  ].join(', ');
}

/** The result of a step in the last test, in words. */
export function wordsOfResult(tested: NodeSteps, { type, data }: DraftNode, kinds: Kinds): string {
  const { brief, reason } = resultLine(tested, resultName(kinds[type], data));
  return [wordOf(tested.shown.status), brief, reason].filter(Boolean).join(', ');
}

export function Step({ id, data: shown }: NodeProps<StepNode>) {
  const { node, kinds, line, faults, exits, tested, planned, flow } = shown;
  const words = wordsOf(node.type, kinds[node.type]);
  const failure = planned || !tested ? undefined : resultLine(tested, resultName(kinds[node.type], node.data)).reason;
  return (
    <StepCard
      id={id}
      title={nameOf(node)}
      words={words}
      flow={flow}
      tone={toneOf(shown)}
      exits={exits}
      isDisabled={node.data.isDisabled === true}
      begins={kinds[node.type]?.begins}
      line={failure ?? line}
      isFailure={failure !== undefined || planned?.tone === 'bad'}
      isPinned={pinOf(node) !== undefined}
      mark={shown.mark}
    >
      {faults > 0 ? (
        <span className="status" data-tone="bad">
          {countOf(faults, 'fault')}
        </span>
      ) : (
        <StateOfStep {...shown} />
      )}
    </StepCard>
  );
}

function toneOf({ faults, planned }: Shown) {
  if (faults > 0) return 'bad';
  return planned?.tone === 'idle' ? 'none' : planned?.tone;
}

/** Its fate in a proposed change, else its state in the plan that is shown, else in the last test. */
function StateOfStep({ node, kinds, tested, isOutdated, planned, mark }: Shown) {
  if (mark)
    return (
      <span className="status" data-tone={markWords[mark].tone}>
        {markWords[mark].word}
      </span>
    );
  if (planned)
    return (
      <span className="status" data-tone={planned.tone}>
        {planned.word}
      </span>
    );
  if (!tested) return null;
  const { brief } = resultLine(tested, resultName(kinds[node.type], node.data));
  return (
    <>
      {isOutdated ? (
        <span className="status" data-tone="idle" title={OUTDATED}>
          Outdated
        </span>
      ) : (
        <Status of={tested.shown.status} />
      )}
      {brief && <span className="node-result">{brief}</span>}
    </>
  );
}
