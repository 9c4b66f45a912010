import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { backfillsRead, type CronJobIDs, startBackfill, stopBackfill } from '../client/cron.ts';
import { useMay } from '../client/may.ts';
import type { Schemas } from '../client/types.ts';
import { countOf } from '../ui/count.ts';
import { faultsOf } from '../ui/faults.ts';
import { Problem } from '../ui/problem.tsx';
import { type Column, MoreButton, Scroller, Table } from '../ui/table.tsx';
import { Moment } from '../ui/time.tsx';

type Backfill = Schemas['CronBackfill'];

/** Ticks of the past that are made up for, one after the other. */
export function Backfills({ ids }: { ids: CronJobIDs }) {
  const may = useMay(`cronjob:${ids.cronJobID}`);
  const queries = useQueryClient();
  const read = useInfiniteQuery(backfillsRead(ids));
  const rows = read.data?.pages.flatMap(({ backfills }) => backfills) ?? [];
  const stop = useMutation({
    mutationFn: (backfillID: string) => stopBackfill({ ...ids, backfillID }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['cron-job', ids] }),
  });
  const columns: Column<Backfill>[] = [
    {
      head: 'Range',
      cell: ({ from, to }) => (
        <>
          <Moment at={from} /> to <Moment at={to} />
        </>
      ),
    },
    { head: 'Progress', cell: (one) => progressOf(one) },
    {
      head: 'Actions',
      isPinned: true,
      cell: ({ backfillID, status }) =>
        (status === 'FILLING' || status === 'RUNNING') &&
        may('cronjob.update') && (
          <Button size="compact-xs" variant="default" loading={stop.isPending} onClick={() => stop.mutate(backfillID)}>
            Stop
          </Button>
        ),
    },
  ];
  return (
    <Stack gap="sm">
      {read.error && <Problem error={read.error} />}
      {stop.error && <Problem error={stop.error} />}
      {may('cronjob.update') && <Start ids={ids} />}
      {rows.length > 0 && (
        <Scroller label="Missed times">
          <Table caption="Missed times" columns={columns} rows={rows} idOf={({ backfillID }) => backfillID} />
          <MoreButton of={read} />
        </Scroller>
      )}
    </Stack>
  );
}

function progressOf({ status, total, leftOut, isCut, counts }: Backfill): string {
  const words = { FILLING: 'looks for times', RUNNING: 'runs', COMPLETED: 'done', CANCELLED: 'stopped' }[status];
  const parts = [
    `${counts.SUCCESS.toLocaleString()} of ${countOf(total, 'time')}`,
    ...(counts.FAILURE > 0 ? [`${counts.FAILURE.toLocaleString()} failed`] : []),
    ...(leftOut > 0 ? [`${leftOut.toLocaleString()} had run before`] : []),
    ...(isCut ? ['cut at 1,000'] : []),
  ];
  return `${words}: ${parts.join(', ')}`;
}

function Start({ ids }: { ids: CronJobIDs }) {
  const queries = useQueryClient();
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const start = useMutation({
    mutationFn: () => startBackfill(ids, new Date(from).toISOString(), to && new Date(to).toISOString()),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['cron-job', ids] }),
  });
  const faults = faultsOf(start.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    start.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Text size="sm" mb="xs">
        Runs the job now for the times of a past range at which it did not run, for example while it was paused.
      </Text>
      <Group align="end" gap="xs">
        <TextInput
          label="From"
          type="datetime-local"
          required
          value={from}
          error={faults.get('from')}
          onChange={({ currentTarget: { value } }) => setFrom(value)}
        />
        <TextInput
          label="To"
          description="Empty: now"
          type="datetime-local"
          value={to}
          error={faults.get('to')}
          onChange={({ currentTarget: { value } }) => setTo(value)}
        />
        <Button type="submit" variant="default" loading={start.isPending}>
          Run for these
        </Button>
      </Group>
      {start.error && faults.size === 0 && <Problem error={start.error} />}
    </form>
  );
}
