import { Button, Group, Stack, Textarea } from '@mantine/core';
import { Component, type ReactNode, useMemo, useState } from 'react';
import type { Schemas } from '../client/types.ts';
import { faultsIn } from '../ui/faults.ts';
import { Form } from '../ui/form.tsx';
import { Notice } from '../ui/notice.tsx';
import { errorsOf, hasFault } from '../ui/schema-faults.ts';
import { SchemaForm } from '../ui/schema-form.tsx';
import type { Layout } from '../ui/schema-shape.ts';
import { answerOf, anyAnswer, type QuestionForm, questionForm } from './question-form.ts';

export type Answer = Schemas['CollectionSubmission']['submittedData'];

interface Props {
  request: Pick<Schemas['CollectionRequest'], 'collectionConfig'>;
  send: { error: Error | null; isPending: boolean; mutate: (answer: Answer) => void };
}

export function Approval({ request: { collectionConfig }, send }: Props) {
  const [comment, setComment] = useState('');
  const { approveLabel, rejectLabel, requireComment } = collectionConfig;
  const decide = (decision: 'approve' | 'reject') => send.mutate({ decision, ...(comment.trim() && { comment }) });
  return (
    <Stack>
      <Textarea
        label="Comment"
        required={requireComment === true}
        description={requireComment === true ? undefined : 'Optional'}
        autosize
        minRows={2}
        value={comment}
        error={faultsIn('submittedData', send.error).get('comment')}
        onChange={(event) => setComment(event.currentTarget.value)}
      />
      <Group>
        <Button loading={send.isPending} onClick={() => decide('approve')}>
          {typeof approveLabel === 'string' ? approveLabel : 'Accept'}
        </Button>
        <Button variant="default" loading={send.isPending} onClick={() => decide('reject')}>
          {typeof rejectLabel === 'string' ? rejectLabel : 'Reject'}
        </Button>
      </Group>
    </Stack>
  );
}

const undrawn: QuestionForm = { form: anyAnswer, start: {}, problem: 'The form of this question cannot be drawn.' };

/** A schema that a tenant wrote may still break a form that has passed its checks. */
export function FormAnswer(props: Props) {
  return (
    <Guard fallback={<AnswerForm {...props} question={undrawn} />}>
      <OwnForm {...props} />
    </Guard>
  );
}

function OwnForm(props: Props) {
  const { collectionConfig } = props.request;
  const question = useMemo(() => questionForm(collectionConfig), [collectionConfig]);
  return <AnswerForm {...props} question={question} />;
}

function AnswerForm({ question, send }: Props & { question: QuestionForm }) {
  const { form, start, problem } = question;
  const [answer, setAnswer] = useState(start);
  const faults = faultsIn('submittedData', send.error);
  const saving = { ...send, mutate: () => send.mutate(answerOf(answer, form) as Answer) };
  const button = (
    <Group>
      <Button type="submit" loading={send.isPending}>
        Send
      </Button>
    </Group>
  );
  return (
    <Form save={saving} faults={shownFaults(faults, form)} button={button}>
      {problem && <Notice tone="wait">{problem}</Notice>}
      <SchemaForm form={form} value={answer} onChange={setAnswer} faults={faults} isQuestion />
    </Form>
  );
}

/** The faults, if a field of the form shows each of them. */
function shownFaults(faults: ReadonlyMap<string, string>, { uischema }: QuestionForm['form']): typeof faults {
  const isShown = (fault: readonly [string, string]) =>
    fault[0] !== '' && hasFault(uischema as Layout, '', errorsOf([fault]));
  return [...faults].every(isShown) ? faults : new Map();
}

class Guard extends Component<{ children: ReactNode; fallback: ReactNode }, { isBroken: boolean }> {
  override state = { isBroken: false };

  static getDerivedStateFromError() {
    return { isBroken: true };
  }

  override render() {
    return this.state.isBroken ? this.props.fallback : this.props.children;
  }
}
