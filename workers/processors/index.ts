import type { AnyQueue } from '#shared/queues/index.ts';
import type { Processor } from '../consume.ts';
import { processWorkflowRun } from './workflow-runs.ts';

export const processors = {
  'workflow.runs': processWorkflowRun,
} satisfies { [D in AnyQueue as D['name']]: Processor<D> };
