import type { queryRuns } from '#shared/messaging/queues/query-runs.ts';
import type { Answerer } from './answer-requests.ts';

export const answerQueryRun: Answerer<typeof queryRuns> = ({ question, signal }, { queries }) =>
  queries.run({ ...question, signal });
