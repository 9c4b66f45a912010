import { Button, Group, Stack, Text } from '@mantine/core';
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

interface ActionsProps {
  /** The effect of taking it, in words. */
  action: string;
  disabled?: boolean;
  loading?: boolean;
  onTake: () => void;
  onDiscard: () => void;
}

export function ProposalActions({ action, disabled = false, loading = false, onTake, onDiscard }: ActionsProps) {
  return (
    <Group gap="xs">
      <Button size="xs" disabled={disabled} loading={loading} onClick={onTake}>
        {action}
      </Button>
      <Button size="xs" variant="default" onClick={onDiscard}>
        Discard
      </Button>
    </Group>
  );
}

/** The text of a query or a program, which scrolls by itself. */
export function ProposedCode({ text }: { text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <pre tabIndex={0}>
      <code>{withoutTurning(text)}</code>
    </pre>
  );
}
