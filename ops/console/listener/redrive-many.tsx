import { Button, Group, Modal, Select, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { deadLettersRead, type ListenerIDs, redriveEvents } from '../client/listeners.ts';
import { countOf } from '../ui/count.ts';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';

const HOUR_MS = 3_600_000;
const periods = [
  { value: '1', label: 'Last hour' },
  { value: '24', label: 'Last 24 hours' },
  { value: '168', label: 'Last 7 days' },
];

/** Gives the dead letters of a period to workers again, after saying how many that are. */
export function RedriveMany({ ids, onClose }: { ids: ListenerIDs; onClose: () => void }) {
  const queries = useQueryClient();
  const [hours, setHours] = useState('24');
  // Events that become dead letters later were not counted, and stay.
  const { from, to } = useMemo(() => {
    const now = Date.now();
    return { from: new Date(now - Number(hours) * HOUR_MS).toISOString(), to: new Date(now).toISOString() };
  }, [hours]);
  const { data: count, error } = useQuery(deadLettersRead(ids, from, to));
  const redrive = useMutation({
    mutationFn: () => redriveEvents(ids, from, to),
    onSettled: () => queries.invalidateQueries({ queryKey: ['listener-events', ids] }),
  });
  return (
    <Modal opened onClose={onClose} title="Redrive dead letters">
      <Stack>
        <Select
          label="Received in the"
          data={periods}
          value={hours}
          allowDeselect={false}
          onChange={(value) => setHours(value ?? '24')}
          disabled={redrive.isSuccess}
        />
        {error && <Problem error={error} />}
        {redrive.error && <Problem error={redrive.error} />}
        {redrive.isSuccess ? (
          <Notice tone="ok" role="status">
            Done: {lettersOf(redrive.data.redriven)} given to workers again.
            {redrive.data.duplicates > 0 && ` ${duplicatesOf(redrive.data.duplicates)}`}
          </Notice>
        ) : (
          count !== undefined && (
            <Text size="sm">
              {count === 0
                ? 'There are none.'
                : `${lettersOf(count)} will be processed again. Actions that have succeeded are not done again, and a dead letter is not processed if another delivery with its id was accepted.`}
            </Text>
          )
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          {!redrive.isSuccess && (
            <Button disabled={!count} loading={redrive.isPending} onClick={() => redrive.mutate()}>
              Redrive {count ? lettersOf(count) : ''}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}

function duplicatesOf(count: number): string {
  return count === 1
    ? '1 is a duplicate: another delivery with its id was accepted, so it is not processed again.'
    : `${count.toLocaleString()} are duplicates: other deliveries with their ids were accepted, so they are not processed again.`;
}

function lettersOf(count: number): string {
  return countOf(count, 'dead letter');
}
