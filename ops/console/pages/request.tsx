import { Container, Paper, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { requestRead } from '../client/reads.ts';
import { body, rest } from '../client/rest.ts';
import type { Schemas } from '../client/types.ts';
import { type Answer, Approval, FormAnswer } from '../inbox/answer.tsx';
import { May } from '../ui/may.tsx';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { questionKind, questionTitle } from '../ui/question.ts';

type Request = Schemas['CollectionRequest'];

/** A question that a run waits for, and the way to answer it. */
export function RequestPage() {
  const { tenantID, requestID } = useParams({ from: '/shell/t/$tenantID/inbox/$requestID' });
  const { data: request, error, refetch } = useQuery(requestRead(tenantID, requestID));
  const queries = useQueryClient();
  const send = useMutation({
    mutationFn: (submittedData: Answer) => {
      const path = '/api/v1/tenants/{tenantID}/workflows/data-collection/{collectionRequestID}/submit';
      const params = { path: { tenantID, collectionRequestID: requestID } };
      return body(rest.POST(path, { params, body: { submittedData } }));
    },
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: ['request', tenantID, requestID] });
      await queries.invalidateQueries({ queryKey: ['requests', tenantID] });
    },
  });
  if (error)
    return (
      <>
        <PageTitle title="Question" />
        <Problem error={error} onRetry={() => void refetch()} />
      </>
    );
  if (!request) return <Skeleton h={240} />;
  const { description } = request.collectionConfig;
  return (
    <Container size="sm">
      <PageTitle title={questionTitle(request)}>
        <Text size="sm" c="dimmed">
          {questionKind(request)}
        </Text>
      </PageTitle>
      <Stack>
        {typeof description === 'string' && description !== '' && <p className="error-text">{description}</p>}
        {send.error && request.collectionType === 'approval' && <Problem error={send.error} />}
        {request.status === 'PENDING' ? (
          <May permission="workflow.execute">
            <Paper withBorder p="md">
              {request.collectionType === 'approval' ? (
                <Approval request={request} send={send} />
              ) : (
                <FormAnswer request={request} send={send} />
              )}
            </Paper>
          </May>
        ) : (
          <Notice tone="ok" role="status">
            {closedWords[request.status]}
          </Notice>
        )}
        <Link
          className="link"
          to="/t/$tenantID/runs/$instanceID"
          params={{ tenantID, instanceID: request.instanceID }}
          search={{}}
        >
          The run that asks
        </Link>
      </Stack>
    </Container>
  );
}

const closedWords: Record<Exclude<Request['status'], 'PENDING'>, string> = {
  COMPLETED: 'The question is answered.',
  EXPIRED: 'The question has expired.',
  CANCELLED: 'The question was taken back: its run has ended.',
};
