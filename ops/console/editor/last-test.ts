import { useState } from 'react';

/** The run of the last test of a workflow in this tab. */
export function useLastTest(workflowID: string): [string | undefined, (instanceID: string) => void] {
  const key = `gantry.test.${workflowID}`;
  const [instanceID, setInstanceID] = useState(() => sessionStorage.getItem(key) ?? undefined);
  const note = (next: string) => {
    sessionStorage.setItem(key, next);
    setInstanceID(next);
  };
  return [instanceID, note];
}
