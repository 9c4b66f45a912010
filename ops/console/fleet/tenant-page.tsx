import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import type { Schemas } from '../client/types.ts';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { Status } from '../ui/status.tsx';
import type { Column } from '../ui/table.tsx';
import { durationText } from '../ui/time.tsx';
import { tenantRead, unlessLive } from './client.ts';
import { useFleetRoom } from './live.ts';
import { Age, Backlog, LiveMark, Panel, PausedQueues } from './parts.tsx';

/** Runs of a tenant that wait, and why. */
export function TenantPage({ tenantID }: { tenantID: string }) {
  const connection = useFleetRoom(tenantID);
  const read = useQuery({ ...tenantRead(tenantID), ...unlessLive(connection === 'live') });
  const { data, refetch } = read;
  const error = errorInPlaceOf(read);
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton h={400} />;
  return (
    <>
      <PageTitle title={data.tenantTitle ?? tenantID} beside={<LiveMark connection={connection} />} />
      {data.pausedAt && <Notice tone="wait">The intake of this tenant is paused.</Notice>}
      <PausedQueues names={data.pausedQueues} />
      <Text size="sm">
        {data.maxRuns === null
          ? `${data.running.toLocaleString()} runs are executed now, and no limit is set.`
          : `${data.running.toLocaleString()} runs are executed now; the limit is ${data.maxRuns.toLocaleString()} at once.`}
      </Text>
      <Panel
        title="Why runs wait"
        at={data.at}
        said="the oldest"
        columns={columns}
        rows={data.runs}
        idOf={({ instanceID }) => instanceID}
        empty="No run of this tenant waits."
      />
      <Backlog at={data.at} rows={data.backlog} empty="Nothing of this tenant waits in a queue." />
    </>
  );
}

type Row = Schemas['FleetWaitingRun'];

const columns: readonly Column<Row>[] = [
  {
    head: 'Reason',
    cell: ({ reason }) => (reason ? <bdi>{reason.message}</bdi> : 'is being continued'),
  },
  { head: 'Since', cell: ({ since }) => <Age at={since} /> },
  { head: 'Workflow', cell: ({ workflowTitle, workflowID }) => <bdi>{workflowTitle ?? workflowID ?? '–'}</bdi> },
  { head: 'Class', cell: ({ class: kind }) => kind, isWide: true },
  { head: 'Status', cell: ({ status }) => <Status of={status} />, isWide: true },
  {
    head: 'May begin in',
    cell: ({ reason }) =>
      reason?.estimateSeconds == null ? '–' : `about ${durationText(reason.estimateSeconds * 1_000)}`,
    isWide: true,
  },
  { head: 'Run', cell: ({ instanceID }) => <code>{instanceID}</code>, isWide: true },
];
