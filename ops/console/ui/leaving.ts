import { type ComponentType, useSyncExternalStore } from 'react';
import type { LeaveProps, Save } from './leave-dialog.tsx';

interface Asked extends LeaveProps {
  Dialog: ComponentType<LeaveProps>;
}

let asked: Asked | undefined;
const listeners = new Set<() => void>();

/** The question that waits for the person, which the shell shows. */
export function useUnsavedQuestion(): Asked | undefined {
  return useSyncExternalStore(subscribe, () => asked);
}

/** Asks whether a page with unsaved changes may be left. A later question takes the place of one that is open. */
export async function mayLeave(save: Save): Promise<boolean> {
  // The server may be away, with which the changes must not be lost.
  const loaded = await import('./leave-dialog.tsx').catch(() => undefined);
  if (!loaded || listeners.size === 0) return window.confirm('Leave without saving the changes?');
  asked?.onAnswer(false);
  return new Promise((resolve) => {
    const question: Asked = {
      ...{ Dialog: loaded.LeaveDialog, save },
      onAnswer: (answer) => {
        if (asked === question) show(undefined);
        resolve(answer);
      },
    };
    show(question);
  });
}

function show(next: Asked | undefined): void {
  asked = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
