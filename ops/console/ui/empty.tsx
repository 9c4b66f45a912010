import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';

interface Props {
  /** The main thing to do here. */
  action?: ReactNode;
  children: ReactNode;
}

/** In place of a list without entries: says what they are for, with the way to the first one. */
export function Empty({ action, children }: Props) {
  return (
    <Stack p="xl" align="center" gap="md">
      <Text ta="center" c="dimmed" maw="36rem">
        {children}
      </Text>
      {action}
    </Stack>
  );
}
