import { type NodeSteps, nodesOf, type Step } from '../client/run-steps.ts';
import type { Run, TimelineEvent } from '../client/types.ts';
import { isObject } from '../ui/is-object.ts';
import type { EditedGraph } from './pins.ts';

/** The iterations of a step in a test. */
export interface StepResult {
  run: Run;
  steps: NodeSteps;
  /** The graph of which it was a test; undefined for a test of an earlier visit. */
  tested?: EditedGraph | undefined;
  /** The test has ended, as was asked, before the step had: it repeats the one that was to be run. */
  isCut?: boolean;
}

/** Results of steps, by their ids: those of the last test, and of tests before it that it did not run again. */
export type Results = ReadonlyMap<string, StepResult>;

export const noResults: Results = new Map();

export interface TestOf {
  /** A part of the graph was tested. */
  isPartial: boolean;
  /** Steps whose results the test was given. The run says so of a step only once it has passed it. */
  given?: ReadonlySet<string>;
  tested?: EditedGraph | undefined;
}

/** The results after a test. Those of a part of the graph leave the others as they are, and so do outputs that were given. */
export function resultsAfter(before: Results, run: Run, { isPartial, given, tested }: TestOf): Results {
  const found = new Map(isPartial ? before : noResults);
  for (const steps of nodesOf(run.timeline, run.status)) {
    if (isPartial && given?.has(steps.nodeID) && before.has(steps.nodeID)) continue;
    const isCut = isPartial && run.status === 'COMPLETED' && steps.shown.status === 'UNFINISHED';
    found.set(steps.nodeID, { run, steps, tested, isCut });
  }
  return found;
}

/** The outputs of these steps that were too large to come with their tests, each in the run that has it: it may be an earlier one than the last. */
export function omittedOutputs(
  results: Results,
  ids: Iterable<string>,
): { instanceID: string; event: TimelineEvent }[] {
  return [...ids].flatMap((id) => {
    const result = results.get(id);
    const event = firstStep(result?.steps)?.last;
    return result && event?.outputOmitted === true ? [{ instanceID: result.run.instanceID, event }] : [];
  });
}

/** The work of a node for the first items, else that to look at first. */
export function firstStep(node: NodeSteps | undefined): Step | undefined {
  return node?.steps.find(({ frame }) => frame.every(({ iteration }) => iteration === 0)) ?? node?.shown;
}

/** The first iteration of a step that has a result for the steps after it; undefined if none has. */
export function usableStep({ steps }: NodeSteps): Step | undefined {
  return steps.find(({ last }) => isUsable(last));
}

function isUsable({ status, exit, output, outputOmitted }: TimelineEvent): boolean {
  if (status !== 'SUCCESS' && status !== 'SKIPPED' && !(status === 'FAILED' && exit !== null)) return false;
  return isObject(output) || outputOmitted === true;
}
