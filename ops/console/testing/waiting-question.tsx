import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { Question } from '../apps/lazy-forms.ts';
import { useMay } from '../client/may.ts';
import { questionsOfRunRead } from '../client/question-reads.ts';
import type { Step } from '../client/run-steps.ts';
import type { Run } from '../client/types.ts';

interface Props {
  tenantID: string;
  run: Run;
  step: Step;
}

/** The question that a step of a test waits for. One that the caller may answer is answered here, so that nobody has to leave the editor. */
export function WaitingQuestion({ tenantID, run: { instanceID, waitReason }, step }: Props) {
  const may = useMay();
  const { data } = useQuery({
    ...questionsOfRunRead(tenantID, instanceID, step.last.seq),
    enabled: may('workflow.execute'),
  });
  const path = JSON.stringify(step.frame);
  const asked = data?.find(({ nodeID, frame }) => nodeID === step.nodeID && JSON.stringify(frame) === path);
  if (asked)
    return (
      <Suspense fallback={<Skeleton h={80} />}>
        <Question questionID={asked.collectionRequestID} />
      </Suspense>
    );
  return (
    <Text size="sm">
      It waits, and the test with it{waitReason ? `: ${waitReason.message}.` : '. What it waits for, the run says.'}
    </Text>
  );
}
