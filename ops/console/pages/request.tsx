import { Container, Paper, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { requestRead } from '../client/question-reads.ts';
import { requestsRead } from '../client/reads.ts';
import { referenceRead } from '../client/references.ts';
import { body, rest } from '../client/rest.ts';
import type { Schemas } from '../client/types.ts';
import { type Answer, Approval, FormAnswer } from '../inbox/answer.tsx';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { questionKind, questionTitle } from '../ui/question.ts';
import { Moment } from '../ui/time.tsx';
import { WaitsFor } from '../ui/waits-for.tsx';

type Request = Schemas['CollectionRequest'];

/** A question that a run waits for, and the way to answer it. */
export function RequestPage() {
  const { tenantID, requestID } = useParams({ from: '/shell/t/$tenantID/inbox/$requestID' });
  const read = useQuery(requestRead(tenantID, requestID));
  const { data: request, refetch } = read;
  const error = errorInPlaceOf(read);
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
        {request.status !== 'PENDING' ? null : !request.mayAnswer ? (
          <WaitsFor {...request} />
        ) : (
          <Paper withBorder p="md">
            {request.collectionType === 'approval' ? (
              <Approval request={request} send={send} />
            ) : (
              <FormAnswer request={request} send={send} />
            )}
          </Paper>
        )}
        {request.status !== 'PENDING' && (
          <Notice tone="ok" role="status">
            {closedWords[request.status] + decisionIn(request)}
          </Notice>
        )}
        <Asker tenantID={tenantID} request={request} />
        {request.status !== 'PENDING' && <Next tenantID={tenantID} />}
      </Stack>
    </Container>
  );
}

/** The run that asks, by its workflow, and until when it does. */
function Asker({ tenantID, request: { workflowID, instanceID, expiresAt, status } }: AskerProps) {
  const { data } = useQuery({ ...referenceRead(tenantID, 'workflow', workflowID ?? ''), enabled: workflowID !== null });
  return (
    <Text size="sm">
      <Link className="link" to="/t/$tenantID/runs/$instanceID" params={{ tenantID, instanceID }} search={{}}>
        The run that asks
      </Link>
      {data && (
        <>
          {' is one of “'}
          <bdi>{data.title}</bdi>”.
        </>
      )}
      {status === 'PENDING' && expiresAt && (
        <>
          {' It waits until '}
          <Moment at={expiresAt} />.
        </>
      )}
    </Text>
  );
}

interface AskerProps {
  tenantID: string;
  request: Request;
}

/** Who has answered one question goes on with the next. */
function Next({ tenantID }: { tenantID: string }) {
  const { data } = useQuery(requestsRead(tenantID));
  const next = data?.requests[0];
  return (
    <Text size="sm">
      {next ? (
        <>
          {'Next question: '}
          <Link
            className="link"
            to="/t/$tenantID/inbox/$requestID"
            params={{ tenantID, requestID: next.collectionRequestID }}
          >
            <bdi>{questionTitle(next)}</bdi>
          </Link>
        </>
      ) : (
        'No other question waits.'
      )}{' '}
      <Link className="link" to="/t/$tenantID/inbox" params={{ tenantID }}>
        To the inbox
      </Link>
    </Text>
  );
}

function decisionIn({ collectionType, submittedData }: Request): string {
  if (collectionType !== 'approval' || typeof submittedData !== 'object' || submittedData === null) return '';
  const { decision } = submittedData as { decision?: unknown };
  if (decision === 'approve') return ' It was approved.';
  return decision === 'reject' ? ' It was rejected.' : '';
}

const closedWords: Record<Exclude<Request['status'], 'PENDING'>, string> = {
  COMPLETED: 'The question is answered.',
  EXPIRED: 'The question has expired.',
  CANCELLED: 'The question was taken back: its run has ended.',
};
