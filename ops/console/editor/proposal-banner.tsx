import { Button, Group, Text } from '@mantine/core';
import { type ReactNode, useMemo, useState } from 'react';
import type { Draft } from './draft.ts';
import { type Marks, markWords, proposedGraph, type StepMark } from './proposed-graph.ts';

interface Props {
  marks: Marks;
  isShown: boolean;
  onShow: (isShown: boolean) => void;
}

/** The graph with a proposed change in it, unless a person looks at the draft alone, and what says so. */
export function useProposed(draft: Draft, proposal: Draft | undefined) {
  const [isShown, setShown] = useState(true);
  const all = useMemo(() => proposal && proposedGraph(draft, proposal), [draft, proposal]);
  const banner: ReactNode = all && <ProposalBanner marks={all.marks} isShown={isShown} onShow={setShown} />;
  return all && isShown ? { shown: all.graph, marks: all.marks, banner } : { shown: draft, marks: undefined, banner };
}

/** Says that the graph shows a change that the assistant proposes, and lets one look at the draft without it. */
function ProposalBanner({ marks, isShown, onShow }: Props) {
  const counts = Map.groupBy(marks.steps.values(), (mark) => mark);
  return (
    <section className="plan-banner" aria-label="Proposed on the graph">
      <Group justify="space-between" gap="xs">
        <Text size="sm" role="status">
          <strong>{isShown ? 'The graph shows the proposed change' : 'The assistant proposes a change'}</strong>
          {', which is not in the draft yet. Steps: '}
          {(Object.keys(markWords) as StepMark[]).map((mark, at) => (
            <span key={mark}>
              {at > 0 && ', '}
              <span className="status" data-tone={markWords[mark].tone}>
                {(counts.get(mark)?.length ?? 0).toLocaleString()} {markWords[mark].word.toLowerCase()}
              </span>
            </span>
          ))}
        </Text>
        <Button size="compact-sm" variant="default" onClick={() => onShow(!isShown)}>
          {isShown ? 'Show the draft' : 'Show the change'}
        </Button>
      </Group>
    </section>
  );
}
