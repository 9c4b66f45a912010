import { useBlocker } from '@tanstack/react-router';
import { createContext, useContext, useEffect } from 'react';
import type { Save } from './leave-dialog.tsx';
import { mayLeave } from './leaving.ts';

/** Is told whether what is inside has unsaved changes; a dialog, for example, which then asks before it closes. */
export const TellUnsaved = createContext<((isDirty: boolean) => void) | undefined>(undefined);

/** Asks before a page with unsaved changes is left; before the tab is closed, the browser does. */
export function useUnsaved(isDirty: boolean, save?: Save): void {
  const tell = useContext(TellUnsaved);
  useEffect(() => tell?.(isDirty), [tell, isDirty]);
  useBlocker({
    shouldBlockFn: async () => isDirty && !(await mayLeave(save)),
    enableBeforeUnload: isDirty,
  });
}
