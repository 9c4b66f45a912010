import { useBlocker } from '@tanstack/react-router';
import { createContext, useContext, useEffect } from 'react';

/** Is told whether what is inside has unsaved changes; a dialog, for example, which then asks before it closes. */
export const TellUnsaved = createContext<((isDirty: boolean) => void) | undefined>(undefined);

/** Asks before a page with unsaved changes is left. */
export function useUnsaved(isDirty: boolean): void {
  const tell = useContext(TellUnsaved);
  useEffect(() => tell?.(isDirty), [tell, isDirty]);
  useBlocker({
    shouldBlockFn: () => isDirty && !window.confirm('Leave without saving the changes?'),
    enableBeforeUnload: isDirty,
  });
}
