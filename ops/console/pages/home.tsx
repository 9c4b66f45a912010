import { Paper, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay } from '../client/may.ts';
import { requestsRead, runsRead, tenantsRead, workflowsRead } from '../client/reads.ts';
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
        {may('workflow.read') && (
          <>
            <Runs
              tenantID={tenantID}
              title="Failed in the last 24 hours"
              empty="None."
              filter={{ status: 'FAILED', since: 'day' }}
            />
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

function FirstSteps({ tenantID }: { tenantID: string }) {
  return (
    <Paper withBorder p="md" mb="md">
      <Text fw={600} component="h2">
        No workflow yet
      </Text>
      <Text size="sm">
        A sample shows what Gantry does: <code>npm run sample -- order-approval --tenant {tenantID}</code> installs one
        here.
      </Text>
    </Paper>
  );
}
