import { Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { pageQuestionsRead } from '../client/page-runs.ts';
import { Ago } from '../ui/time.tsx';
import { Question } from './lazy-forms.ts';

/** How often a page that is in view looks for questions of others' runs. */
const EVERY_MS = 30_000;

/** Questions of runs of this page, also of others' runs, to the viewer: above the page, each folded. */
export function QuestionsOfPage(ids: { tenantID: string; appPageID: string }) {
  const { data: questions = [] } = useQuery({ ...pageQuestionsRead(ids), refetchInterval: EVERY_MS });
  if (questions.length === 0) return null;
  return (
    <Paper withBorder p="md" mb="md" component="section" aria-label="Waiting for your answer">
      <Stack gap="xs">
        <Text fw={600} component="h2">
          {questions.length === 1
            ? '1 question waits for your answer'
            : `${questions.length} questions wait for your answer`}
        </Text>
        {questions.map(({ collectionRequestID, title, workflowAlias, isOwnRun, createdAt }) => (
          <details key={collectionRequestID} className="group">
            <summary>
              <bdi>{title ?? workflowAlias}</bdi>{' '}
              <span className="note">
                {isOwnRun ? 'of a run of yours' : 'of a run of somebody else'}, <Ago at={createdAt} />
              </span>
            </summary>
            <Suspense>
              <Question questionID={collectionRequestID} />
            </Suspense>
          </details>
        ))}
      </Stack>
    </Paper>
  );
}
