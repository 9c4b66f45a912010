import type { Schemas } from '../client/types.ts';
import { countOf } from '../ui/count.ts';

type Shadow = Schemas['ShadowReplayed'];
type Outcome = Schemas['NodeOutcomeDiff'];
type Diff = Schemas['RunsDiff'];

/** One way in which a replay differs from the run that the event had started. Undefined: there is nothing on that side. */
export interface Difference {
  /** The id of a step; null: the whole run. */
  nodeID: string | null;
  /** The iteration of the loops around it; empty outside of them. */
  iteration: string;
  what: string;
  from: string | undefined;
  to: string | undefined;
}

/** Differences step by step, in the order in which the steps ran, then those of the runs. */
export function differencesOf(diff: Diff, { original, shadow }: Pick<Shadow, 'original' | 'shadow'>): Difference[] {
  const ofRun: Difference[] = [
    ...(original.status === shadow.status ? [] : [{ what: 'status', from: endOf(original), to: endOf(shadow) }]),
    ...diff.output.map((change) => ({ what: fieldOf(change.path), ...sidesOf(change) })),
  ].map((one) => ({ nodeID: null, iteration: '', ...one }));
  return [...diff.nodes.flatMap(ofStep), ...ofRun];
}

function ofStep({ nodeID, frame: path, state, before, after, refusedWrite, changes }: Outcome): Difference[] {
  const iteration = path.map(({ iteration: index }) => index + 1).join('.');
  const one = (what: string, from: string | undefined, to: string | undefined): Difference => {
    return { nodeID, iteration, what, from, to };
  };
  if (state === 'same') return [];
  if (state === 'refused') return [one('write', 'was made', `not made in a trial: ${refusedWrite ?? ''}`)];
  if (state === 'onlyBefore') return [one('step', 'was run', 'not reached')];
  if (state === 'onlyAfter') return [one('step', 'not reached', 'would run')];
  if (state === 'notCompared') return [one('result', 'too large to be compared', 'too large to be compared')];
  const isOther = before?.status !== after?.status || before?.exit !== after?.exit;
  const errors = [before, after].map((side) => side?.error?.message);
  return [
    ...(isOther ? [one('how it ended', outcomeOf(before), outcomeOf(after))] : []),
    ...(errors[0] === errors[1] ? [] : [one('error', errors[0], errors[1])]),
    ...changes.map((change) => ({ nodeID, iteration, what: fieldOf(change.path), ...sidesOf(change) })),
  ];
}

function outcomeOf(side: Outcome['before']): string | undefined {
  return side ? `${side.status.toLowerCase()}${side.exit ? `, left by “${side.exit}”` : ''}` : undefined;
}

function endOf({ status, error }: Shadow['shadow']): string {
  return `${status.toLowerCase()}${error ? `: ${error.message}` : ''}`;
}

function fieldOf(path: Diff['output'][number]['path']): string {
  return path.length === 0 ? 'result' : path.join('.');
}

function sidesOf({ from, to, fromLength, toLength }: Diff['output'][number]) {
  return { from: sideOf(from, fromLength), to: sideOf(to, toLength) };
}

function sideOf(value: unknown, length: number | undefined): string | undefined {
  if (length !== undefined) return `${countOf(length, 'character')}, too many to be shown`;
  return value === undefined ? undefined : JSON.stringify(value);
}

/** The outcome of a replay in a few words; undefined while it goes on. */
export function verdictOf({
  original,
  shadow,
  diff,
}: Shadow): { word: string; tone: 'ok' | 'wait' | 'bad' } | undefined {
  if (!diff) return undefined;
  const refused = diff.nodes.filter(({ state }) => state === 'refused').length;
  const others = new Set(
    diff.nodes.filter(({ state }) => state !== 'same' && state !== 'refused').map(({ nodeID }) => nodeID),
  );
  const writes = refused > 0 ? `, ${countOf(refused, 'write')} not made` : '';
  if (original.status !== shadow.status)
    return { word: `${original.status.toLowerCase()} → ${shadow.status.toLowerCase()}${writes}`, tone: 'bad' };
  if (others.size > 0)
    return { word: `${countOf(others.size, 'step')} differ${others.size === 1 ? 's' : ''}${writes}`, tone: 'wait' };
  if (diff.output.length > 0) return { word: `The output differs${writes}`, tone: 'wait' };
  return { word: `The same${writes}`, tone: 'ok' };
}
