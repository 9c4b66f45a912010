import { useBlocker } from '@tanstack/react-router';

/** Asks before a page with unsaved changes is left. */
export function useUnsaved(isDirty: boolean): void {
  useBlocker({
    shouldBlockFn: () => isDirty && !window.confirm('Leave without saving the changes?'),
    enableBeforeUnload: isDirty,
  });
}
