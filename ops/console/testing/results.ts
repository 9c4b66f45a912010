import { type NodeSteps, nodesOf, type Step } from '../client/run-steps.ts';
import type { Run, TimelineEvent } from '../client/types.ts';
import { countOf } from '../ui/count.ts';
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

/** The result of a step in a few characters: how many rows, or a short value; empty if there is nothing to say. */
export function briefOf(event: Pick<TimelineEvent, 'output'>, outputVariable: unknown): string {
  const { output } = event;
  if (!isObject(output)) return '';
  if (typeof output.label === 'string' && 'matched' in output) return short(output.label);
  if (typeof output.status === 'number') return `status ${output.status}`;
  const value = typeof outputVariable === 'string' ? output[outputVariable] : undefined;
  return value === undefined ? '' : valueText(value);
}

/** More does not fit into a card. */
const MAX_BRIEF = 18;

function valueText(value: unknown): string {
  if (Array.isArray(value)) return countOf(value.length, value.every(isObject) ? 'row' : 'item');
  if (!isObject(value)) return short(typeof value === 'string' ? `“${value}”` : String(value));
  const list = ['rows', 'items', 'results'].map((key) => value[key]).find(Array.isArray);
  if (list) return valueText(list);
  if (typeof value.approved === 'boolean') return value.approved ? 'approved' : 'rejected';
  const [only, ...others] = Object.entries(value);
  if (only && others.length === 0 && !isObject(only[1])) return short(`${only[0]}: ${valueText(only[1])}`);
  return countOf(Object.keys(value).length, 'field');
}

function short(text: string): string {
  return text.length > MAX_BRIEF ? `${text.slice(0, MAX_BRIEF)}…` : text;
}

/** A result as a card says it, in one line. */
export interface ResultLine {
  /** Beside the state of the step. */
  brief: string;
  /** Why it failed. */
  reason: string | undefined;
}

export function resultLine({ shown, steps, failed }: NodeSteps, outputVariable: unknown): ResultLine {
  const { last } = shown;
  if (last.status === 'FAILED') return { brief: ofMany(failed, steps.length), reason: last.error?.message ?? '' };
  if (steps.length > 1) return { brief: countOf(steps.length, 'time'), reason: undefined };
  return { brief: last.status === 'SUCCESS' ? briefOf(last, outputVariable) : '', reason: undefined };
}

function ofMany(failed: number, all: number): string {
  return all > 1 ? `${failed} of ${all}` : '';
}
