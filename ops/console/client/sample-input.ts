import { keep } from './keep.ts';

const keyOf = (workflowID: string) => `gantry.sample-input.${workflowID}`;

/** Keeps an input to begin with for runs of a workflow that this tab has installed. */
export function setSampleInput(workflowID: string, args: Readonly<Record<string, unknown>>): void {
  keep(keyOf(workflowID), JSON.stringify(args));
}

export function sampleInput(workflowID: string): Readonly<Record<string, unknown>> | undefined {
  const text = sessionStorage.getItem(keyOf(workflowID));
  const saved = text === null ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>);
  return Object.keys(saved).length > 0 ? saved : undefined;
}
