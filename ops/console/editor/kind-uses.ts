import { keep } from '../client/keep.ts';

const KEY = 'gantry.kinds';

/** How often the person of this browser has added steps of each kind. */
export function usesOfKinds(): Readonly<Record<string, number>> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '{}') as Record<string, number>;
  } catch {
    return {};
  }
}

export function noteUse(kind: string): void {
  const uses = usesOfKinds();
  keep(KEY, JSON.stringify({ ...uses, [kind]: (uses[kind] ?? 0) + 1 }), localStorage);
}
