import type { queryRuns } from '#shared/messaging/queues/query-runs.ts';
import type { RPCHandler } from './answer-requests.ts';

export const answerQueryRun: RPCHandler<typeof queryRuns> = ({ request, signal }, { queries }) =>
  queries.run({ ...request, signal });
