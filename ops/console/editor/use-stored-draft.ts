import { useEffect, useState } from 'react';
import type { Schemas } from '../client/types.ts';
import { dropDraft, keepDraft, type StoredDraft, storedDraft } from './stored-draft.ts';

/** How long nothing is changed before it is stored. */
const PAUSE_MS = 500;

interface Editing extends Omit<StoredDraft, 'at'> {
  workflow: Schemas['Workflow'];
  isDirty: boolean;
}

/** Keeps what is not saved; gives the changes of an earlier visit until the person has decided about them. */
export function useStoredDraft({ workflow, isDirty, versionNumber, title, draft }: Editing) {
  const [found, setFound] = useState(() => storedDraft(workflow));
  const { id } = workflow;
  useEffect(() => {
    if (!isDirty) return found ? keepDraft(id, found) : dropDraft(id);
    const store = () => keepDraft(id, { at: Date.now(), versionNumber, title, draft });
    const timer = setTimeout(store, PAUSE_MS);
    window.addEventListener('pagehide', store);
    return () => {
      clearTimeout(timer);
      window.removeEventListener('pagehide', store);
    };
  }, [id, found, isDirty, versionNumber, title, draft]);
  return { found, decided: () => setFound(undefined) };
}
