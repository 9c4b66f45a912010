import { Paper, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { useMay } from '../client/may.ts';
import { answerPageQuestion, pageQuestionRead } from '../client/page-runs.ts';
import { requestRead } from '../client/question-reads.ts';
import { APIError, body, rest } from '../client/rest.ts';
import type { Schemas } from '../client/types.ts';
import { type Answer, Approval, FormAnswer } from '../inbox/answer.tsx';
import type { QuestionProps } from '../page/widgets/runs-of.tsx';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { questionTitle } from '../ui/question.ts';
import { WaitsFor } from '../ui/waits-for.tsx';

/**
 * A question of a run within the page that has started the run, for those who may answer it there or in the inbox. `isOver`: the run does
 * not ask it any more, so another may have answered meanwhile.
 */
export function Question({ questionID, isOver = false }: QuestionProps) {
  const { read, isReadable, answer } = useAsked(questionID);
  const queries = useQueryClient();
  const send = useMutation({
    mutationFn: answer,
    onSettled: () =>
      Promise.all(
        ['request', 'requests', 'page-question', 'page-questions'].map((key) =>
          queries.invalidateQueries({ queryKey: [key] }),
        ),
      ),
  });
  const { data: request, refetch } = read;
  useEffect(() => {
    if (isOver && isReadable) void refetch();
  }, [isOver, isReadable, refetch]);
  const error = errorInPlaceOf(read);
  if (!isReadable) return isOver ? null : <Text size="sm">It waits for the answer of another person.</Text>;
  if (error) return <Problem error={error} />;
  if (!request) return <Skeleton h={80} />;
  if (request.status === 'PENDING') return <Open request={request} send={send} />;
  if (!request.mayAnswer) return null;
  if (send.isSuccess) return <Taken answer={send.variables} />;
  return <Closed request={request} wasSent={send.isError} />;
}

/** A question as its page shows it, or as the inbox does to those for whom it is not on the page. */
function useAsked(questionID: string) {
  const { tenantID = '', appPageID } = useParams({ strict: false });
  const may = useMay();
  const ids = { tenantID, appPageID: appPageID ?? '', appPageQuestionID: questionID };
  const ofPage = useQuery({ ...pageQuestionRead(ids), enabled: appPageID !== undefined });
  const isOfInbox = appPageID === undefined || isRefusal(ofPage.error) || ofPage.data?.mayAnswer === false;
  const mayRead = isOfInbox && (may('workflow.read') || may('workflow.execute'));
  const ofInbox = useQuery({ ...requestRead(tenantID, questionID), enabled: mayRead });
  const answer = async (submittedData: Answer): Promise<unknown> => {
    if (!isOfInbox) return await answerPageQuestion(ids, submittedData);
    const path = '/api/v1/tenants/{tenantID}/workflows/data-collection/{collectionRequestID}/submit';
    const params = { path: { tenantID, collectionRequestID: questionID } };
    return await body(rest.POST(path, { params, body: { submittedData } }));
  };
  // Who has started the run reads in the page for whom it waits, without any permission but that of the page.
  if (!isOfInbox || (ofPage.data && !mayRead)) return { read: ofPage, isReadable: true, answer };
  return { read: ofInbox, isReadable: mayRead && !isRefusal(errorInPlaceOf(ofInbox)), answer };
}

type Request = Pick<Schemas['CollectionRequest'], 'collectionConfig' | 'collectionType'> &
  Pick<Schemas['ReadCollectionRequest'], 'mayAnswer' | 'waitsFor'>;

function Open({ request, send }: { request: Request; send: Parameters<typeof Approval>[0]['send'] }) {
  const { description } = request.collectionConfig;
  return (
    <Paper withBorder p="md" mt="xs" component="section" aria-label={questionTitle(request)}>
      <Stack gap="sm">
        <Text fw={600}>
          <bdi>{questionTitle(request)}</bdi>
        </Text>
        {typeof description === 'string' && description !== '' && <p className="error-text">{description}</p>}
        {send.error && request.collectionType === 'approval' && <Problem error={send.error} />}
        {!request.mayAnswer ? (
          <WaitsFor {...request} />
        ) : request.collectionType === 'approval' ? (
          <Approval request={request} send={send} />
        ) : (
          <FormAnswer request={request} send={send} />
        )}
      </Stack>
    </Paper>
  );
}

/** The outcome of an answer that the viewer has just sent. */
function Taken({ answer: { decision } }: { answer: Answer }) {
  return (
    <Notice tone="ok" role="status">
      {decision === 'approve' ? 'Approved' : decision === 'reject' ? 'Rejected' : 'Your answer was taken'}
    </Notice>
  );
}

interface ClosedProps {
  request: { status: string; answeredBy?: string | null; isOwnAnswer?: boolean };
  wasSent: boolean;
}

/** Tells a viewer who was about to answer that another did, or that nobody is asked any more. */
function Closed({ request: { status, answeredBy, isOwnAnswer }, wasSent }: ClosedProps) {
  if (isOwnAnswer && !wasSent) return null;
  return (
    <Notice tone="wait" role="status">
      {status !== 'COMPLETED' && 'This question is closed: nobody has answered it in time, or its run has ended.'}
      {status === 'COMPLETED' && isOwnAnswer && 'You have answered this already.'}
      {status === 'COMPLETED' && !isOwnAnswer && <bdi>{answeredBy ?? 'Another person'}</bdi>}
      {status === 'COMPLETED' && !isOwnAnswer && ' has answered meanwhile.'}
      {wasSent && ' Your answer was not taken.'}
    </Notice>
  );
}

/** A question that is not for this viewer is answered as if it were not there; a draft answers nothing. */
function isRefusal(error: Error | null): boolean {
  return error instanceof APIError && [403, 404, 409].includes(error.status);
}
