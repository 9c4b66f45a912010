import type { NodeSteps } from '../client/run-steps.ts';
import type { TimelineEvent } from '../client/types.ts';
import { countOf } from '../ui/count.ts';
import { isObject } from '../ui/is-object.ts';

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
