import { Text } from '@mantine/core';

/** A page runs what it binds as its creator, which a builder must know before it is made. */
export function WhoSees({ what }: { what: string }) {
  return (
    <Text size="xs" c="dimmed">
      The page {what} as you: people need no right of their own but to read the page. Who that is, roles decide.
    </Text>
  );
}
