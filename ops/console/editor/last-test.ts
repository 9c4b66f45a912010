import { useState } from 'react';
import { keep } from '../client/keep.ts';

/** The run whose results the steps of a workflow show: that of the last test in this tab, or the one that the person comes from. */
export function useLastTest(
  workflowID: string,
  from: string | undefined,
): [string | undefined, (instanceID: string) => void] {
  const key = `gantry.test.${workflowID}`;
  const [instanceID, setInstanceID] = useState(() => from ?? sessionStorage.getItem(key) ?? undefined);
  const note = (next: string) => {
    keep(key, next);
    setInstanceID(next);
  };
  return [instanceID, note];
}
