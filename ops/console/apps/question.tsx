import { Paper, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { useMay } from '../client/may.ts';
import { answerPageQuestion, pageQuestionRead } from '../client/page-runs.ts';
import { requestRead } from '../client/reads.ts';
import { APIError, body, rest } from '../client/rest.ts';
import { type Answer, Approval, FormAnswer } from '../inbox/answer.tsx';
import { Problem } from '../ui/problem.tsx';
import { questionTitle } from '../ui/question.ts';

/** A question of a run within the page that has started the run, for those who may answer it there or in the inbox. */
export function Question({ questionID }: { questionID: string }) {
  const { tenantID = '', appPageID } = useParams({ strict: false });
  const may = useMay();
  const queries = useQueryClient();
  const ids = { tenantID, appPageID: appPageID ?? '', appPageQuestionID: questionID };
  const ofPage = useQuery({ ...pageQuestionRead(ids), enabled: appPageID !== undefined });
  const isOfInbox = appPageID === undefined || isRefusal(ofPage.error);
  const mayRead = isOfInbox && (may('workflow.read') || may('workflow.execute'));
  const ofInbox = useQuery({ ...requestRead(tenantID, questionID), enabled: mayRead });
  const read = isOfInbox ? ofInbox : ofPage;
  const { data: request } = read;
  const error = errorInPlaceOf(read);
  const send = useMutation({
    mutationFn: (submittedData: Answer) => {
      if (!isOfInbox) return answerPageQuestion(ids, submittedData);
      const path = '/api/v1/tenants/{tenantID}/workflows/data-collection/{collectionRequestID}/submit';
      return body(
        rest.POST(path, { params: { path: { tenantID, collectionRequestID: questionID } }, body: { submittedData } }),
      );
    },
    onSettled: () =>
      Promise.all(
        [['request', tenantID, questionID], ['page-question'], ['page-questions']].map((queryKey) =>
          queries.invalidateQueries({ queryKey }),
        ),
      ),
  });
  if (isOfInbox && (!mayRead || isRefusal(error)))
    return <Text size="sm">It waits for the answer of somebody else.</Text>;
  if (error) return <Problem error={error} />;
  if (!request) return <Skeleton h={80} />;
  if (request.status !== 'PENDING') return null;
  const { description } = request.collectionConfig;
  return (
    <Paper withBorder p="md" mt="xs" component="section" aria-label={questionTitle(request)}>
      <Stack gap="sm">
        <Text fw={600}>
          <bdi>{questionTitle(request)}</bdi>
        </Text>
        {typeof description === 'string' && description !== '' && <p className="error-text">{description}</p>}
        {send.error && request.collectionType === 'approval' && <Problem error={send.error} />}
        {request.collectionType === 'approval' ? (
          <Approval request={request} send={send} />
        ) : (
          <FormAnswer request={request} send={send} />
        )}
      </Stack>
    </Paper>
  );
}

/** A question that is not for this viewer is answered as if it were not there; a draft answers nothing. */
function isRefusal(error: Error | null): boolean {
  return error instanceof APIError && [403, 404, 409].includes(error.status);
}
