import type { Config } from '../draft.ts';

/** Props of a part of the settings of a workflow. */
export interface OptionProps {
  options: Config;
  /** Sets options; an undefined one is left out. */
  onSet: (change: Config) => void;
  /** Faults of the API by dotted paths. */
  faults: ReadonlyMap<string, string>;
  disabled: boolean;
}

/** The fault of an option, or of a part of it. */
export function faultOf(faults: ReadonlyMap<string, string>, option: string): string | undefined {
  return faults.get(option) ?? [...faults].find(([path]) => path.startsWith(`${option}.`))?.[1];
}
