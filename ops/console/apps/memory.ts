import type { Memory } from '../page/state/runs.ts';

/** The memory of a page for its tab: a reload finds it, and another tab does not. */
export function memoryOf(id: string): Memory {
  const key = `gantry.page.${id}`;
  return {
    get() {
      try {
        return JSON.parse(sessionStorage.getItem(key) ?? 'null');
      } catch {
        return null;
      }
    },
    set(value) {
      sessionStorage.setItem(key, JSON.stringify(value));
    },
  };
}
