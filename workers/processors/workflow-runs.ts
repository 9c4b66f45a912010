import type { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import type { Processor } from './consume.ts';

export const processWorkflowRuns: Processor<typeof workflowRuns> = ({ payload }, { engine }) => {
  const { tenantID, instanceID, epoch, more = [] } = payload;
  return engine.advance({ tenantID, runs: [{ instanceID, epoch }, ...more] });
};
