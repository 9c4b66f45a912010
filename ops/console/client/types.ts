import type { components } from '../../client/rest.ts';

export type Schemas = components['schemas'];
export type Run = Schemas['WorkflowInstance'];
export type RunSummary = Schemas['WorkflowInstanceSummary'];
export type RunStatus = Schemas['RunStatus'];
export type NodeStatus = Schemas['NodeStatus'];
export type TimelineEvent = Schemas['WorkflowInstanceEvent'];

/** A fault of a request, with its path in it. */
export interface Issue {
  path: readonly (string | number)[];
  message: string;
}
