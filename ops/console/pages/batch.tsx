import '@mantine/core/styles/Progress.css';
import { Button, Paper, Progress, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { BatchState } from '../batch/state.tsx';
import { kindWords, progressOf } from '../batch/words.ts';
import { type Batch, batchRead, isUnderWay, stopBatch } from '../client/batches.ts';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { useAuthorNames } from '../client/members.ts';
import { runsRead } from '../client/reads.ts';
import { runStatuses } from '../client/run-filter.ts';
import { workflowRead } from '../client/workflows.ts';
import { wordOfCode } from '../run/error-words.ts';
import { countOf } from '../ui/count.ts';
import { Detail } from '../ui/detail.tsx';
import { wordsOfName } from '../ui/field-words.ts';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { Status, wordOf } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';

/** How far a batch of runs is, what of it failed, and its end. */
export function BatchPage() {
  const ids = useParams({ from: '/shell/t/$tenantID/batches/$batchID' });
  const read = useQuery(batchRead(ids));
  const { data: batch, refetch } = read;
  const error = errorInPlaceOf(read);
  const queries = useQueryClient();
  const stop = useMutation({
    mutationFn: () => stopBatch(ids),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['batch', ids.tenantID] }),
  });
  if (error)
    return (
      <>
        <PageTitle title="Batch" />
        <Problem error={error} onRetry={() => void refetch()} />
      </>
    );
  if (!batch)
    return (
      <>
        <PageTitle title="Batch" />
        <Skeleton h={320} />
      </>
    );
  return (
    <Stack gap="md">
      <PageTitle
        title={batch.label ?? kindWords[batch.kind]}
        beside={
          <span role="status">
            <BatchState of={batch} />
          </span>
        }
      >
        <Button
          variant="default"
          renderRoot={(props) => (
            <Link {...props} to="/t/$tenantID/batches" params={{ tenantID: ids.tenantID }} search={{}} />
          )}
        >
          All batches
        </Button>
        {isUnderWay(batch) && batch.cancelledAt === null && (
          <May permission="workflow.execute" on={`workflow:${batch.workflowID ?? '*'}`}>
            <Button
              variant="default"
              leftSection={<Icon name="ban" />}
              loading={stop.isPending}
              onClick={() => stop.mutate()}
            >
              {batch.kind === 'cancel' ? 'Stop cancelling' : 'Cancel what has not ended'}
            </Button>
          </May>
        )}
      </PageTitle>
      {stop.error && <Problem error={stop.error} />}
      <Details tenantID={ids.tenantID} batch={batch} />
      {batch.refused > 0 && (
        <Notice tone="bad" title={`${countOf(batch.refused, 'run')} refused`}>
          {batch.lastError ?? 'No reason was recorded.'}
        </Notice>
      )}
      {batch.kind === 'cancel' ? (
        <Text>
          {countOf(batch.total, 'run')} of {Math.max(batch.lookedAt, batch.total).toLocaleString()} that the filter
          found {batch.total === 1 ? 'was' : 'were'} cancelled.
        </Text>
      ) : (
        <Runs tenantID={ids.tenantID} batch={batch} />
      )}
    </Stack>
  );
}

interface Props {
  tenantID: string;
  batch: Batch;
}

function Details({ tenantID, batch }: Props) {
  const { workflowID, batchID, creatorID, createdByApiKeyID, createdAt, filter } = batch;
  const authorOf = useAuthorNames(tenantID);
  const { data: workflow } = useQuery({
    ...workflowRead({ tenantID, workflowID: workflowID ?? '' }),
    ...{ enabled: workflowID !== null, retry: false },
  });
  const conditions = Object.entries(filter ?? {}).flatMap(([name, value]) => conditionIn(name, String(value)));
  return (
    <dl className="facts">
      <Detail name="Asked for">{kindWords[batch.kind]}</Detail>
      <Detail name="Workflow">
        {workflowID === null ? (
          'several'
        ) : (
          <Link className="link" to="/t/$tenantID/workflows/$workflowID" params={{ tenantID, workflowID }} search={{}}>
            <bdi>{workflow?.title ?? workflowID.slice(-8)}</bdi>
          </Link>
        )}
      </Detail>
      <Detail name="Created">
        <Ago at={createdAt} />
      </Detail>
      <Detail name="By">
        <bdi>{authorOf(creatorID, createdByApiKeyID)}</bdi>
      </Detail>
      {conditions.length > 0 && (
        <Detail name="Runs that had">
          <bdi className="breaks">{conditions.join(', ')}</bdi>
        </Detail>
      )}
      <Detail name="Batch">
        <code>{batchID}</code>
      </Detail>
    </dl>
  );
}

/** A condition on runs in words; the workflow has a line of its own. */
function conditionIn(name: string, value: string): string[] {
  if (name === 'workflowID') return [];
  const status = runStatuses.find((one) => name === 'status' && one === value);
  return [`${wordsOfName(name)}: ${status ? wordOf(status) : name === 'errorCode' ? wordOfCode(value) : value}`];
}

function Runs({ tenantID, batch }: Props) {
  const { batchID, counts } = batch;
  const { done, total } = progressOf(batch);
  const parts = [
    { status: 'COMPLETED', color: 'green' },
    { status: 'FAILED', color: 'red' },
    { status: 'CANCELLED', color: 'gray' },
  ] as const;
  return (
    <Paper withBorder p="md">
      <Text role="status" mb="xs">
        {done.toLocaleString()} of {countOf(total, 'run')} {total === 1 ? 'has' : 'have'} ended.
      </Text>
      <Progress.Root size="lg" aria-hidden="true">
        {parts.map(({ status, color }) => (
          <Progress.Section key={status} color={color} value={total === 0 ? 0 : (100 * counts[status]) / total} />
        ))}
      </Progress.Root>
      <ul className="lines prose counts">
        {runStatuses
          .filter((status) => counts[status] > 0)
          .map((status) => (
            <li key={status}>
              <Link className="link" to="/t/$tenantID/runs" params={{ tenantID }} search={{ batch: batchID, status }}>
                <Status of={status} /> {counts[status].toLocaleString()}
              </Link>
            </li>
          ))}
      </ul>
      <Link className="link" to="/t/$tenantID/runs" params={{ tenantID }} search={{ batch: batchID }}>
        All runs of the batch
      </Link>
      {counts.FAILED > 0 && <Failed tenantID={tenantID} batch={batch} />}
    </Paper>
  );
}

/** More of them are behind the link to all failed ones. */
const MAX_FAILED = 10;

function Failed({ tenantID, batch: { batchID, counts } }: Props) {
  const read = runsRead(tenantID, { batch: batchID, status: 'FAILED' });
  // Another count is another reading.
  const { data } = useQuery({ ...read, queryKey: [...read.queryKey, counts.FAILED] as never });
  const runs = data?.instances.slice(0, MAX_FAILED) ?? [];
  return (
    <section aria-labelledby="failed-runs">
      <Text component="h2" fw={600} size="sm" mt="md" id="failed-runs">
        Failed runs
      </Text>
      <ul className="lines prose">
        {runs.map(({ instanceID, workflowTitle, errorCode, createdAt }) => (
          <li key={instanceID}>
            <Link className="link" to="/t/$tenantID/runs/$instanceID" params={{ tenantID, instanceID }} search={{}}>
              <bdi>{workflowTitle ?? 'Unsaved workflow'}</bdi> <code>{instanceID.slice(-8)}</code>
            </Link>{' '}
            <span className="note">
              {errorCode && `${wordOfCode(errorCode)}, `}
              <Ago at={createdAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
