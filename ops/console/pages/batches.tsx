import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { BatchState } from '../batch/state.tsx';
import { kindWords, progressOf } from '../batch/words.ts';
import { type Batch, batchesRead } from '../client/batches.ts';
import { useMay } from '../client/may.ts';
import { useAuthorNames } from '../client/members.ts';
import { workflowsRead } from '../client/reads.ts';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { type Column, PageButtons, Scroller, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

/** Runs that one request has started, re-run or cancelled together, newest first. */
export function BatchesPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/batches' });
  const { cursor } = useSearch({ from: '/shell/t/$tenantID/batches' });
  const navigate = useNavigate({ from: '/t/$tenantID/batches' });
  const { data, error, isPending, refetch } = useQuery(batchesRead(tenantID, cursor === undefined ? {} : { cursor }));
  const columns = useColumns(tenantID);
  return (
    <>
      <PageTitle title="Batches of runs" />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {isPending && <Skeleton h={320} />}
      {data?.batches.length === 0 && (
        <Text p="xl" ta="center" c="dimmed" className="panel">
          No batch yet. One is made when many runs are started, re-run or cancelled together: “Cancel or re-run all” on
          the page of runs.
        </Text>
      )}
      {data && data.batches.length > 0 && (
        <Scroller label="Batches" isPanel>
          <Table
            caption="Batches, newest first"
            columns={columns}
            rows={data.batches}
            idOf={({ batchID }) => batchID}
          />
        </Scroller>
      )}
      <PageButtons
        cursor={cursor}
        next={data?.nextCursor}
        onGo={(next) => void navigate({ search: next === undefined ? {} : { cursor: next } })}
      />
    </>
  );
}

function useColumns(tenantID: string): readonly Column<Batch>[] {
  const authorOf = useAuthorNames(tenantID);
  const { data: workflows } = useQuery({ ...workflowsRead(tenantID), enabled: useMay()('workflow.list') });
  const titleOf = (id: string | null) =>
    id === null ? 'several workflows' : (workflows?.find((one) => one.id === id)?.title ?? id.slice(-8));
  return [
    {
      head: 'Batch',
      cell: ({ batchID, kind, label }) => (
        <Link className="link" to="/t/$tenantID/batches/$batchID" params={{ tenantID, batchID }}>
          <bdi>{label ?? kindWords[kind]}</bdi>
        </Link>
      ),
    },
    { head: 'Workflow', cell: ({ workflowID }) => <bdi>{titleOf(workflowID)}</bdi>, isWide: true },
    { head: 'State', cell: (batch) => <BatchState of={batch} /> },
    { head: 'Runs', cell: countsOf },
    { head: 'Created', cell: ({ createdAt }) => <Ago at={createdAt} />, isWide: true },
    {
      head: 'By',
      cell: ({ creatorID, createdByApiKeyID }) => <bdi>{authorOf(creatorID, createdByApiKeyID)}</bdi>,
      isWide: true,
    },
  ];
}

function countsOf(batch: Batch): string {
  const { done, total } = progressOf(batch);
  if (batch.kind === 'cancel') return `${total.toLocaleString()} cancelled`;
  const failed = batch.counts.FAILED > 0 ? `, ${batch.counts.FAILED.toLocaleString()} failed` : '';
  return `${done.toLocaleString()} of ${total.toLocaleString()} ended${failed}`;
}
