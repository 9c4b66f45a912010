import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { faultsOf } from '../ui/faults.ts';
import { useUnsaved } from '../ui/unsaved.ts';

interface Settings<T> {
  saved: T;
  /** Answers with what is in force then. */
  send: (draft: T) => Promise<T>;
  queryKey: QueryKey;
}

/** Settings while they are edited. */
export function useSettings<T extends object>({ saved, send, queryKey }: Settings<T>) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState(saved);
  const isDirty = JSON.stringify(draft) !== JSON.stringify(saved);
  const save = useMutation({
    mutationFn: () => send(draft),
    onSuccess: async (inForce) => {
      setDraft(inForce);
      await queries.invalidateQueries({ queryKey });
    },
  });
  useUnsaved(isDirty && !save.isPending);
  const set = (change: Partial<T>) => {
    save.reset();
    setDraft({ ...draft, ...change });
  };
  return { draft, set, isDirty, save, faults: faultsOf(save.error) };
}
