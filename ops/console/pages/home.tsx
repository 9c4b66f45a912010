import { Paper, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay } from '../client/may.ts';
import { isNewRead, type Overview, overviewRead } from '../client/overview.ts';
import { tenantsRead } from '../client/reads.ts';
import type { RunFilter } from '../client/run-filter.ts';
import { toolCallsRead } from '../client/tool-approvals.ts';
import type { RunStatus } from '../client/types.ts';
import { FirstSteps } from '../home/first-steps.tsx';
import { OtherPages } from '../home/other-pages.tsx';
import { countOf } from '../ui/count.ts';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { Status } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import { Words } from '../ui/words.tsx';

/** The first page: everything that needs the caller now. */
export function HomePage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/' });
  const { data: tenants } = useQuery(tenantsRead);
  const title = tenants?.find((one) => one.tenantID === tenantID)?.tenantTitle ?? 'Tenant';
  const may = useMay();
  const isNew = useQuery({ ...isNewRead(tenantID), enabled: may('workflow.create') && may('workflow.list') });
  const { data, error, refetch } = useQuery(overviewRead(tenantID));
  return (
    <>
      <PageTitle title={title} />
      {isNew.data && <FirstSteps tenantID={tenantID} />}
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton h={320} />}
      {data && isBare(data) && <OtherPages tenantID={tenantID} />}
      {data && (
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          {data.questions && <Questions tenantID={tenantID} questions={data.questions} />}
          {may('ai.approve') && <Calls tenantID={tenantID} />}
          {data.runs && (
            <Runs
              tenantID={tenantID}
              title="Failed in the last 24 hours"
              runs={data.runs.failed}
              filter={{ status: 'FAILED', since: 'day' }}
            />
          )}
          {data.deadLetters && <DeadLetters tenantID={tenantID} letters={data.deadLetters} />}
          {data.stoppedCronJobs && <StoppedJobs tenantID={tenantID} jobs={data.stoppedCronJobs} />}
          {data.stoppedListeners && <StoppedListeners tenantID={tenantID} listeners={data.stoppedListeners} />}
          {data.runs && (
            <>
              <Runs tenantID={tenantID} title="Running now" runs={data.runs.running} filter={{ status: 'RUNNING' }} />
              <Runs tenantID={tenantID} title="Waiting" runs={data.runs.waiting} filter={{ status: 'WAITING' }} />
              <Runs
                tenantID={tenantID}
                title="Not started yet"
                runs={data.runs.pending}
                filter={{ status: 'PENDING' }}
              />
            </>
          )}
        </SimpleGrid>
      )}
    </>
  );
}

function isBare({ questions, runs, deadLetters, stoppedCronJobs, stoppedListeners }: Overview): boolean {
  return [questions, runs, deadLetters, stoppedCronJobs, stoppedListeners].every((part) => part === null);
}

interface Counted {
  count: number;
  isMore: boolean;
}

/** The API counts no further. */
function countText({ count, isMore }: Counted): string {
  return `${count.toLocaleString()}${isMore ? ' or more' : ''}`;
}

function Section({ title, of: { count }, children }: { title: string; of: Counted; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Text component="h2" fw={600} mb="xs">
        {title}
      </Text>
      {count === 0 ? <Text c="dimmed">None.</Text> : <Stack gap="xs">{children}</Stack>}
    </Paper>
  );
}

function Questions({ tenantID, questions }: { tenantID: string; questions: NonNullable<Overview['questions']> }) {
  return (
    <Section title="Questions that wait for an answer" of={questions}>
      {questions.newest.map(({ collectionRequestID, title, nodeID }) => (
        <Link
          key={collectionRequestID}
          className="link"
          to="/t/$tenantID/inbox/$requestID"
          params={{ tenantID, requestID: collectionRequestID }}
        >
          <bdi>{title ?? nodeID}</bdi>
        </Link>
      ))}
      {questions.count > questions.newest.length && (
        <Link className="link" to="/t/$tenantID/inbox" params={{ tenantID }}>
          All {countText(questions)}
        </Link>
      )}
    </Section>
  );
}

/** Only if some wait: most tenants let no call wait. */
function Calls({ tenantID }: { tenantID: string }) {
  const { data } = useQuery(toolCallsRead(tenantID, { isWaiting: true }));
  if (!data?.totalCount) return null;
  return (
    <Section title="Calls of tools that wait for a decision" of={{ count: data.totalCount, isMore: false }}>
      <Link className="link" to="/t/$tenantID/inbox" params={{ tenantID }}>
        {data.totalCount.toLocaleString()} in the inbox
      </Link>
    </Section>
  );
}

/** Each listener leads to its dead letters. */
function DeadLetters({ tenantID, letters }: { tenantID: string; letters: NonNullable<Overview['deadLetters']> }) {
  const { count, isMore, listeners } = letters;
  const isCut = isMore || listeners.reduce((sum, one) => sum + one.count, 0) < count;
  return (
    <Section title="Dead letters of the last 24 hours" of={letters}>
      {listeners.map(({ id, title, ...own }) => (
        <div key={id}>
          <Link
            className="link"
            to="/t/$tenantID/listeners/$listenerID"
            params={{ tenantID, listenerID: id }}
            search={{ state: 'dead' }}
          >
            <bdi>{title}</bdi>
          </Link>{' '}
          <span className="note">{lettersText(own)}</span>
        </div>
      ))}
      {isCut && <Text size="sm">{lettersText(letters)} in all.</Text>}
    </Section>
  );
}

function lettersText({ count, isMore }: Counted): string {
  return isMore ? `${countText({ count, isMore })} dead letters` : countOf(count, 'dead letter');
}

type Stopped = NonNullable<Overview['stoppedCronJobs']>;

function StoppedJobs({ tenantID, jobs }: { tenantID: string; jobs: Stopped }) {
  return (
    <Section title="Stopped cron jobs" of={jobs}>
      {jobs.newest.map(({ id, title, reason }) => (
        <div key={id}>
          <Link className="link" to="/t/$tenantID/cron/$cronJobID" params={{ tenantID, cronJobID: id }}>
            <bdi>{title}</bdi>
          </Link>{' '}
          {reason && <Reason text={reason} />}
        </div>
      ))}
      <Others of={jobs} />
    </Section>
  );
}

function StoppedListeners({ tenantID, listeners }: { tenantID: string; listeners: Stopped }) {
  return (
    <Section title="Stopped listeners" of={listeners}>
      {listeners.newest.map(({ id, title, reason }) => (
        <div key={id}>
          <Link className="link" to="/t/$tenantID/listeners/$listenerID" params={{ tenantID, listenerID: id }}>
            <bdi>{title}</bdi>
          </Link>{' '}
          {reason && <Reason text={reason} />}
        </div>
      ))}
      <Others of={listeners} />
    </Section>
  );
}

function Reason({ text }: { text: string }) {
  return (
    <span className="note">
      <Words text={text} />
    </span>
  );
}

function Others({ of: { count, isMore, newest } }: { of: Counted & { newest: readonly unknown[] } }) {
  const others = count - newest.length;
  return others > 0 ? <Text size="sm">And {countText({ count: others, isMore })} others.</Text> : null;
}

interface RunsProps {
  tenantID: string;
  title: string;
  runs: NonNullable<Overview['runs']>['failed'];
  filter: RunFilter & { status: RunStatus };
}

function Runs({ tenantID, title, runs, filter }: RunsProps) {
  return (
    <Section title={title} of={runs}>
      {runs.newest.map(({ instanceID, workflowTitle, createdAt }) => (
        <div key={instanceID}>
          <Status of={filter.status} />{' '}
          <Link className="link" to="/t/$tenantID/runs/$instanceID" params={{ tenantID, instanceID }} search={{}}>
            <bdi>{workflowTitle ?? 'Unsaved workflow'}</bdi>
          </Link>{' '}
          <Ago at={createdAt} />
        </div>
      ))}
      <Link className="link" to="/t/$tenantID/runs" params={{ tenantID }} search={filter}>
        {countText(runs)} in the list
      </Link>
    </Section>
  );
}
