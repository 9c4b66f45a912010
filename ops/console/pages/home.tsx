import { Paper, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type CronJobPlace, cronJobRead, stoppedCronJobsRead } from '../client/cron.ts';
import { deadLettersOfDayRead } from '../client/listeners.ts';
import { useMay } from '../client/may.ts';
import { requestsRead, runsRead, tenantsRead, workflowsRead } from '../client/reads.ts';
import { toolCallsRead } from '../client/tool-approvals.ts';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { questionTitle } from '../ui/question.ts';
import { Status } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';

const MAX_LISTED = 6;

/** What needs the caller now. */
export function HomePage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/' });
  const { data: tenants } = useQuery(tenantsRead);
  const title = tenants?.find((one) => one.tenantID === tenantID)?.tenantTitle ?? 'Tenant';
  const may = useMay();
  const workflows = useQuery({ ...workflowsRead(tenantID), enabled: may('workflow.list') });
  return (
    <>
      <PageTitle title={title} />
      {workflows.data?.length === 0 && may('workflow.create') && <FirstSteps tenantID={tenantID} />}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        {may('workflow.execute') && <Questions tenantID={tenantID} />}
        {may('ai.approve') && <Calls tenantID={tenantID} />}
        {may('workflow.read') && (
          <>
            <Runs
              tenantID={tenantID}
              title="Failed in the last 24 hours"
              empty="None."
              filter={{ status: 'FAILED', since: 'day' }}
            />
            {may('listener.list') && <DeadLetters tenantID={tenantID} />}
            {may('cronjob.list') && <StoppedJobs tenantID={tenantID} />}
            <Runs tenantID={tenantID} title="Running now" empty="None." filter={{ status: 'RUNNING' }} />
            <Runs tenantID={tenantID} title="Not started yet" empty="None." filter={{ status: 'PENDING' }} />
          </>
        )}
      </SimpleGrid>
    </>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Text component="h2" fw={600} mb="xs">
        {title}
      </Text>
      {children}
    </Paper>
  );
}

function Questions({ tenantID }: { tenantID: string }) {
  const { data, error } = useQuery(requestsRead(tenantID));
  return (
    <Section title="Questions that wait for an answer">
      {error && <Problem error={error} />}
      {!data && !error && <Skeleton h={40} />}
      {data?.requests.length === 0 && <Text c="dimmed">None.</Text>}
      <Stack gap="xs">
        {data?.requests.slice(0, MAX_LISTED).map((request) => (
          <Link
            key={request.collectionRequestID}
            className="link"
            to="/t/$tenantID/inbox/$requestID"
            params={{ tenantID, requestID: request.collectionRequestID }}
          >
            <bdi>{questionTitle(request)}</bdi>
          </Link>
        ))}
        {(data?.totalCount ?? 0) > MAX_LISTED && (
          <Link className="link" to="/t/$tenantID/inbox" params={{ tenantID }}>
            All {data?.totalCount}
          </Link>
        )}
      </Stack>
    </Section>
  );
}

/** Only if some wait: most tenants let no call wait. */
function Calls({ tenantID }: { tenantID: string }) {
  const { data } = useQuery(toolCallsRead(tenantID, { isWaiting: true }));
  if (!data?.totalCount) return null;
  return (
    <Section title="Calls of tools that wait for a decision">
      <Link className="link" to="/t/$tenantID/inbox" params={{ tenantID }}>
        {data.totalCount.toLocaleString()} in the inbox
      </Link>
    </Section>
  );
}

function DeadLetters({ tenantID }: { tenantID: string }) {
  const { data: count, error } = useQuery(deadLettersOfDayRead(tenantID));
  return (
    <Section title="Dead letters of the last 24 hours">
      {error && <Problem error={error} />}
      {count === undefined && !error && <Skeleton h={40} />}
      {count === 0 && <Text c="dimmed">None.</Text>}
      {count !== undefined && count > 0 && (
        <Link className="link" to="/t/$tenantID/listeners" params={{ tenantID }}>
          {count.toLocaleString()} events of listeners
        </Link>
      )}
    </Section>
  );
}

function StoppedJobs({ tenantID }: { tenantID: string }) {
  const { data: ids, error } = useQuery(stoppedCronJobsRead(tenantID));
  return (
    <Section title="Stopped cron jobs">
      {error && <Problem error={error} />}
      {!ids && !error && <Skeleton h={40} />}
      {ids?.length === 0 && <Text c="dimmed">None.</Text>}
      <Stack gap="xs">
        {ids?.slice(0, MAX_LISTED).map((cronJobID) => (
          <StoppedJob key={cronJobID} place={{ tenantID, cronJobID }} />
        ))}
        {ids && ids.length > MAX_LISTED && <Text size="sm">And {ids.length - MAX_LISTED} others.</Text>}
      </Stack>
    </Section>
  );
}

function StoppedJob({ place }: { place: CronJobPlace }) {
  const { data: job } = useQuery(cronJobRead(place));
  return (
    <div>
      <Link className="link" to="/t/$tenantID/cron/$cronJobID" params={place}>
        <bdi>{job?.cronJobTitle ?? place.cronJobID.slice(-8)}</bdi>
      </Link>{' '}
      {job?.stopReason && <span className="note">{job.stopReason}</span>}
    </div>
  );
}

function Runs({
  tenantID,
  title,
  empty,
  filter,
}: {
  tenantID: string;
  title: string;
  empty: string;
  filter: Parameters<typeof runsRead>[1];
}) {
  const { data, error } = useQuery({ ...runsRead(tenantID, filter), refetchInterval: 10_000 });
  const runs = data?.instances ?? [];
  return (
    <Section title={title}>
      {error && <Problem error={error} />}
      {!data && !error && <Skeleton h={40} />}
      {data && runs.length === 0 && <Text c="dimmed">{empty}</Text>}
      <Stack gap="xs">
        {runs.slice(0, MAX_LISTED).map(({ instanceID, workflowTitle, status, createdAt }) => (
          <div key={instanceID}>
            <Status of={status} />{' '}
            <Link className="link" to="/t/$tenantID/runs/$instanceID" params={{ tenantID, instanceID }} search={{}}>
              <bdi>{workflowTitle ?? 'Unsaved workflow'}</bdi>
            </Link>{' '}
            <Ago at={createdAt} />
          </div>
        ))}
        {runs.length > 0 && (
          <Link className="link" to="/t/$tenantID/runs" params={{ tenantID }} search={filter}>
            Show in the list
          </Link>
        )}
      </Stack>
    </Section>
  );
}

const samples = [
  { name: 'order-approval', shows: 'an approval and a form, with reminders' },
  { name: 'nightly-import', shows: 'a schedule, a CSV file, and many items at once' },
  { name: 'webhook-enrichment', shows: 'a listener, and a call to a service with retries' },
];

function FirstSteps({ tenantID }: { tenantID: string }) {
  return (
    <Paper withBorder p="md" mb="md">
      <Text fw={600} component="h2">
        No workflow yet
      </Text>
      <Text size="sm">A sample shows what Gantry does. In the folder of Gantry, these install one here:</Text>
      <ul className="lines">
        {samples.map(({ name, shows }) => (
          <li key={name}>
            <code className="breaks">
              npm run sample -- {name} --tenant {tenantID}
            </code>
            <div className="note">{shows}</div>
          </li>
        ))}
      </ul>
    </Paper>
  );
}
