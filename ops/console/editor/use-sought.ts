import { useEffect } from 'react';

/** Chooses a step that a dialog has named, once for each time that it does. */
export function useSought(sought: { id: string } | undefined, select: (id: string) => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another one is chosen
  useEffect(() => {
    if (sought) select(sought.id);
  }, [sought]);
}
