import { Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { pageQuestionsRead } from '../client/page-runs.ts';
import type { Schemas } from '../client/types.ts';
import { Ago } from '../ui/time.tsx';
import { Question } from './lazy-forms.ts';

type Summary = Schemas['AppPageQuestionSummary'];

/** How often a page that is in view looks for questions of others' runs. */
const EVERY_MS = 30_000;

/** Questions of runs of this page, also of others' runs, to the viewer: above the page, each folded. */
export function QuestionsOfPage(ids: { tenantID: string; appPageID: string }) {
  const { data: open = [] } = useQuery({ ...pageQuestionsRead(ids), refetchInterval: EVERY_MS });
  // Those that the viewer has unfolded stay when another has answered them, and say so.
  const [looked, setLooked] = useState<readonly Summary[]>([]);
  const closed = looked.filter(({ collectionRequestID: id }) => !open.some((one) => one.collectionRequestID === id));
  const questions = [...open, ...closed];
  const forget = (id: string) => setLooked((all) => all.filter((one) => one.collectionRequestID !== id));
  if (questions.length === 0) return null;
  return (
    <Paper withBorder p="md" mb="md" component="section" aria-label="Waiting for your answer">
      <Stack gap="xs">
        <Text fw={600} component="h2">
          {headOf(open.length)}
        </Text>
        {questions.map((one) => (
          <details
            key={one.collectionRequestID}
            className="group"
            onToggle={({ currentTarget }) => {
              forget(one.collectionRequestID);
              if (currentTarget.open) setLooked((all) => [...all, one]);
            }}
          >
            <summary>
              <bdi>{one.title ?? one.workflowAlias}</bdi>{' '}
              <span className="note">
                {one.isOwnRun ? 'of a run of yours' : 'of a run of another person'}, <Ago at={one.createdAt} />
              </span>
            </summary>
            <Suspense>
              <Question questionID={one.collectionRequestID} isOver={closed.includes(one)} />
            </Suspense>
          </details>
        ))}
      </Stack>
    </Paper>
  );
}

function headOf(open: number): string {
  if (open === 0) return 'No question waits for your answer any more';
  return open === 1 ? '1 question waits for your answer' : `${open} questions wait for your answer`;
}
