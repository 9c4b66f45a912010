import { CloseButton, Group, Stack, Text } from '@mantine/core';
import { hasEnded } from '../client/live-runs.ts';
import type { Run } from '../client/types.ts';
import { JSONView } from '../ui/json.tsx';
import { Deliveries } from './deliveries.tsx';

interface Props {
  tenantID: string;
  run: Run;
  /** The workflow names a receiver that is told of the end. */
  hasReceiver: boolean;
  onClose: () => void;
}

/** Input and output of a run, for the panel beside its graph. */
export function Result({ tenantID, run, hasReceiver, onClose }: Props) {
  return (
    <Stack gap="sm">
      <Group justify="space-between" wrap="nowrap" align="start">
        <Text size="sm" c="dimmed">
          Choose a step to see its result and its log.
        </Text>
        <CloseButton aria-label="Close input and output" onClick={onClose} />
      </Group>
      <Text component="h2" fw={600} size="sm">
        Input of the run
      </Text>
      <JSONView value={run.input} label="Input of the run" />
      <Text component="h2" fw={600} size="sm">
        Output of the run
      </Text>
      {run.status === 'COMPLETED' ? (
        <JSONView value={run.output} label="Output of the run" />
      ) : (
        <Text size="sm">{hasEnded(run) ? 'It has none.' : 'Not yet.'}</Text>
      )}
      {hasReceiver && hasEnded(run) && <Deliveries tenantID={tenantID} run={run} />}
    </Stack>
  );
}
