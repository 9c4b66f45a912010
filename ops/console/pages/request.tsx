import { Button, Container, Group, Paper, Skeleton, Stack, Text, Textarea } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { requestRead } from '../client/reads.ts';
import { body, rest } from '../client/rest.ts';
import type { Schemas } from '../client/types.ts';
import { questionFields } from '../ui/as-fields.ts';
import { enteredValues, type Field, Fields, initialValues } from '../ui/fields.tsx';
import { May } from '../ui/may.tsx';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { questionKind, questionTitle } from '../ui/question.ts';

type Request = Schemas['CollectionRequest'];
type Answer = Schemas['CollectionSubmission']['submittedData'];

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
        {send.error && <Problem error={send.error} />}
        {request.status === 'PENDING' ? (
          <May permission="workflow.execute">
            <Paper withBorder p="md">
              {request.collectionType === 'approval' ? (
                <Approval request={request} isSending={send.isPending} onSend={(answer) => send.mutate(answer)} />
              ) : (
                <Form request={request} isSending={send.isPending} onSend={(answer) => send.mutate(answer)} />
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

interface Answering {
  request: Request;
  isSending: boolean;
  onSend: (answer: Answer) => void;
}

function Approval({ request: { collectionConfig }, isSending, onSend }: Answering) {
  const [comment, setComment] = useState('');
  const { approveLabel, rejectLabel, requireComment } = collectionConfig;
  const decide = (decision: 'approve' | 'reject') => onSend({ decision, ...(comment.trim() && { comment }) });
  return (
    <Stack>
      <Textarea
        label="Comment"
        required={requireComment === true}
        autosize
        minRows={2}
        value={comment}
        onChange={(event) => setComment(event.currentTarget.value)}
      />
      <Group>
        <Button loading={isSending} onClick={() => decide('approve')}>
          {typeof approveLabel === 'string' ? approveLabel : 'Accept'}
        </Button>
        <Button variant="default" loading={isSending} onClick={() => decide('reject')}>
          {typeof rejectLabel === 'string' ? rejectLabel : 'Reject'}
        </Button>
      </Group>
    </Stack>
  );
}

const anyAnswer: Field[] = [
  { key: 'answer', label: 'Answer', kind: 'json', description: 'A JSON object', initial: {} },
];

function Form({ request, isSending, onSend }: Answering) {
  const known = questionFields(request.collectionConfig);
  const fields = known ?? anyAnswer;
  const [values, setValues] = useState(() => initialValues(fields));
  const [problem, setProblem] = useState<Error>();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    try {
      const entered = enteredValues(fields, values);
      onSend((known ? entered : entered.answer) as Answer);
      setProblem(undefined);
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Fields fields={fields} values={values} onChange={setValues} />
        {problem && <Problem error={problem} />}
        <Group>
          <Button type="submit" loading={isSending}>
            Send
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
