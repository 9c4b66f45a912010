import type { workflowRuns } from '#shared/queues/workflow-runs.ts';
import type { Processor } from './consume.ts';

export const processWorkflowRun: Processor<typeof workflowRuns> = async ({ payload }, { engine }) => {
  return { outcome: (await engine.advance(payload)) ?? 'not claimed' };
};
