import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import { Group, Paper, SegmentedControl, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Chart } from '../chart/chart.tsx';
import type { Series } from '../chart/series.ts';
import { newestRunsRead } from '../client/newest-runs.ts';
import { type Overview, runHistoryRead } from '../client/overview.ts';
import type { RunStatus, Schemas } from '../client/types.ts';
import { countOf } from '../ui/count.ts';
import { Problem } from '../ui/problem.tsx';
import { Status } from '../ui/status.tsx';
import { type Column, Scroller, Table } from '../ui/table.tsx';
import { type Bar, barsOf, type Span, spans } from './bars.ts';
import { countText } from './needs.tsx';
import { RunLine } from './run-line.tsx';

type Now = NonNullable<Overview['runs']>;

/** How many runs were accepted of late and what became of them, what failed most, and the newest runs. */
export function RunsOfLate({ tenantID, now }: { tenantID: string; now: Now }) {
  const [span, setSpan] = useState<Span>('day');
  const { data, error, refetch } = useQuery(runHistoryRead(tenantID, spans[span].hours));
  return (
    <section aria-labelledby="runs-of-late">
      <Group justify="space-between" mt="lg" mb="xs">
        <Text component="h2" fw={600} id="runs-of-late">
          Runs
        </Text>
        <SegmentedControl
          size="xs"
          aria-label="Runs of"
          data={Object.entries(spans).map(([value, { label }]) => ({ value, label }))}
          value={span}
          onChange={(value) => setSpan(value === 'day' ? 'day' : 'fortnight')}
        />
      </Group>
      <OpenRuns tenantID={tenantID} now={now} />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton h={220} />}
      {data && <History history={data} span={span} />}
      <SimpleGrid cols={{ base: 1, md: 2 }} mt="md">
        <NewestRuns tenantID={tenantID} />
        {data && <FailedMost tenantID={tenantID} history={data} />}
      </SimpleGrid>
    </section>
  );
}

const open: readonly [RunStatus, keyof Now][] = [
  ['RUNNING', 'running'],
  ['WAITING', 'waiting'],
  ['PENDING', 'pending'],
];

/** Runs that have not ended, of any age: each count leads to the list. */
function OpenRuns({ tenantID, now }: { tenantID: string; now: Now }) {
  return (
    <Group gap="lg" mb="xs">
      {open.map(([status, field]) => (
        <Link key={status} className="link" to="/t/$tenantID/runs" params={{ tenantID }} search={{ status }}>
          <Status of={status} /> now: {countText(now[field])}
        </Link>
      ))}
    </Group>
  );
}

function History({ history, span }: { history: Schemas['RunHistory']; span: Span }) {
  const bars = barsOf(history.hours, span);
  const total = bars.reduce((sum, bar) => sum + bar.accepted, 0);
  const { label, time } = spans[span];
  if (total === 0)
    return (
      <Paper withBorder p="md">
        No run was accepted in the last {label}.
      </Paper>
    );
  // The failed ones are the lower part of the bar of those that have ended. A bar of zero would be drawn as a line.
  const series: Series[] = [
    {
      name: 'Not ended yet',
      tone: 'wait',
      shape: 'bar on the left',
      values: bars.map(({ open: count }) => count || null),
    },
    {
      ...{ name: 'Completed', tone: 'ok', shape: 'hollow bar on the right' },
      values: bars.map(({ completed, failed }) => completed + failed || null),
    },
    { name: 'Failed', tone: 'bad', shape: 'bar on the right', values: bars.map(({ failed }) => failed || null) },
  ];
  return (
    <Paper withBorder p="md">
      <Chart
        times={bars.map(({ at }) => at)}
        series={series}
        least={1}
        format={(count) => (Number.isInteger(count) ? count.toLocaleString() : '')}
      />
      <details className="group">
        <summary>
          {countOf(total, 'run')} in the last {label}, by {time === 'hour' ? 'hour' : 'day'}
          {history.isCut && ': the newest 50,000, older ones are not counted'}
        </summary>
        <Scroller label="Runs, as a table">
          <Table
            caption="Runs"
            columns={columnsOf(span)}
            rows={bars.filter(({ accepted }) => accepted > 0).toReversed()}
            idOf={({ at }) => String(at)}
          />
        </Scroller>
      </details>
    </Paper>
  );
}

function columnsOf(span: Span): readonly Column<Bar>[] {
  const { time, format } = spans[span];
  return [
    {
      head: time === 'hour' ? 'Hour' : 'Day',
      cell: ({ at }) => <time dateTime={new Date(at).toISOString()}>{format.format(at)}</time>,
    },
    { head: 'Accepted', cell: ({ accepted }) => accepted.toLocaleString() },
    { head: 'Completed', cell: ({ completed }) => completed.toLocaleString() },
    { head: 'Failed', cell: ({ failed }) => failed.toLocaleString() },
    { head: 'Cancelled', cell: ({ cancelled }) => cancelled.toLocaleString(), isWide: true },
    { head: 'Not ended yet', cell: (bar) => bar.open.toLocaleString(), isWide: true },
  ];
}

function FailedMost({ tenantID, history }: { tenantID: string; history: Schemas['RunHistory'] }) {
  const { failedMost, since } = history;
  return (
    <Paper withBorder p="md" component="section" aria-label="Failed most">
      <Text component="h3" fw={600} mb="xs">
        Failed most
      </Text>
      {failedMost.length === 0 && <Text c="dimmed">No run of a saved workflow failed.</Text>}
      {failedMost.map(({ workflowID, workflowTitle, count }) => (
        <div key={workflowID}>
          <Link
            className="link"
            to="/t/$tenantID/runs"
            params={{ tenantID }}
            search={{ status: 'FAILED', workflowID, from: since }}
          >
            <bdi>{workflowTitle ?? 'A deleted workflow'}</bdi>
          </Link>{' '}
          <span className="note">{countOf(count, 'failed run')}</span>
        </div>
      ))}
    </Paper>
  );
}

function NewestRuns({ tenantID }: { tenantID: string }) {
  const { data, error, refetch } = useQuery(newestRunsRead(tenantID));
  return (
    <Paper withBorder p="md" component="section" aria-label="Newest runs">
      <Text component="h3" fw={600} mb="xs">
        Newest runs
      </Text>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && <Text c="dimmed">No run yet.</Text>}
      <Stack gap={4}>
        {data?.map((run) => (
          <RunLine key={run.instanceID} tenantID={tenantID} run={run} />
        ))}
      </Stack>
    </Paper>
  );
}
