import { keep } from '../client/keep.ts';

const KEY = 'gantry.single-keys';

/** Keys without Ctrl can be switched off: speech input and unsteady hands press them by chance. */
export function hasSingleKeys(): boolean {
  return localStorage.getItem(KEY) !== 'off';
}

export function setSingleKeys(isOn: boolean): void {
  keep(KEY, isOn ? 'on' : 'off', localStorage);
}
