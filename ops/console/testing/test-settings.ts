import { useState } from 'react';
import { keep } from '../client/keep.ts';
import { isObject } from '../ui/is-object.ts';

/** How the tests of a workflow are run in this tab. */
export interface TestSettings {
  /** Undefined until a person has given them. */
  args?: Readonly<Record<string, unknown>>;
  dryRun: boolean;
}

const keyOf = (workflowID: string) => `gantry.test-settings.${workflowID}`;

/** The input of its tests until a person gives another one. */
export function rememberTestInput(workflowID: string, args: Readonly<Record<string, unknown>>): void {
  keep(keyOf(workflowID), JSON.stringify({ args, dryRun: false } satisfies TestSettings));
}

export function useTestSettings(workflowID: string): [TestSettings, (settings: TestSettings) => void] {
  const key = keyOf(workflowID);
  const [settings, setSettings] = useState(() => read(sessionStorage.getItem(key)));
  const save = (next: TestSettings) => {
    keep(key, JSON.stringify(next));
    setSettings(next);
  };
  return [settings, save];
}

function read(text: string | null): TestSettings {
  const saved: unknown = text === null ? undefined : JSON.parse(text);
  if (!isObject(saved)) return { dryRun: false };
  return { dryRun: saved.dryRun === true, ...(isObject(saved.args) && { args: saved.args }) };
}
