import { Box } from '@mantine/core';
import type { ReactNode } from 'react';
import { Notice } from './notice.tsx';
import { Moment } from './time.tsx';

/** Says that the deployment waits after a restore from a backup, and what ends that. */
export function Restored({ at, children }: { at: string; children: ReactNode }) {
  return (
    <Box my="md">
      <Notice tone="wait" title="Restored from a backup" role="status">
        {'The data is of '}
        <Moment at={at} />
        {'. '}
        {children}
      </Notice>
    </Box>
  );
}
