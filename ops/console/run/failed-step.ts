import { type NodeSteps, stepKey } from '../client/run-steps.ts';
import type { Run } from '../client/types.ts';

/** The key of the step that failed a run; undefined if the run has not failed, or not by a step. */
export function failedStepOf({ status, error }: Pick<Run, 'status' | 'error'>): string | undefined {
  if (status !== 'FAILED' || !error?.nodeID) return undefined;
  return stepKey({ nodeID: error.nodeID, frame: error.frame ?? [] });
}

/** Whether the step that failed a run has an error of its own: the time limit of a run names a step that has none. */
export function hasStepError(run: Pick<Run, 'status' | 'error'>, nodes: readonly NodeSteps[]): boolean {
  const key = failedStepOf(run);
  return nodes.some(({ steps }) => steps.some((step) => step.key === key && step.last.error));
}
