import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { withoutTurning } from '../code/turning.ts';
import { Markdown } from '../ui/markdown.tsx';
import { useDiscarded } from './discarded.ts';

interface Props {
  /** The call that proposes it. */
  id: string;
  /** The name for screen readers. */
  label: string;
  title: string;
  summary: unknown;
  children: (onDiscard: () => void) => ReactNode;
}

/** The frame of what the model proposes; one that was discarded says so instead. */
export function ProposalCard({ id, label, title, summary, children }: Props) {
  const [isDiscarded, discard] = useDiscarded(id);
  return (
    <section className="assistant-card" aria-label={label}>
      <Stack gap="xs">
        <Text size="sm" fw={600}>
          <bdi>{withoutTurning(title)}</bdi>
        </Text>
        {typeof summary === 'string' && summary !== '' && <Markdown text={summary} />}
        {isDiscarded ? <Text size="sm">Discarded.</Text> : children(discard)}
      </Stack>
    </section>
  );
}
