import { workflowRuns } from './workflow-runs.ts';

/** Every queue. `workers/processors/index.ts` holds what each does; the compiler keeps the two in step. */
export const queues = [workflowRuns] as const;

export type AnyQueue = (typeof queues)[number];
export type QueueName = AnyQueue['name'];
