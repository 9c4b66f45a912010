import { Button, Group, Text } from '@mantine/core';
import { type Marks, markWords, type StepMark } from './marks.ts';

interface Props {
  marks: Marks;
  isShown: boolean;
  onShow: (isShown: boolean) => void;
}

/** Says that the graph shows a change that the assistant proposes, and lets one look at the draft without it. */
export function ProposalBanner({ marks, isShown, onShow }: Props) {
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
