import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { isChanged, type PageDocument, type StoredPage } from './document.ts';
import { ChangedMeanwhile, savePage } from './save/save-page.ts';
import { type SavedIDs, storedDocument } from './save/stored-document.ts';
import { dropUnsaved, keepUnsaved } from './save/unsaved.ts';

interface Needs {
  tenantID: string;
  stored: StoredPage;
  document: PageDocument;
  /** Ids of widgets that were saved before the tab was loaded anew. */
  savedIDs: SavedIDs;
}

/** How long nothing is changed before the tab keeps what is not saved. */
const PAUSE_MS = 500;

/** Saves what is edited, and knows what of it is saved. */
export function useSave({ tenantID, stored, document, savedIDs }: Needs) {
  const queries = useQueryClient();
  const [{ base, ids }, setSaved] = useState({ base: stored, ids: savedIDs });
  const own = useMemo(() => storedDocument(document, ids), [document, ids]);
  const isDirty = useMemo(() => isChanged(own, base.document), [own, base]);
  const save = useMutation({
    async mutationFn({ over = base, isDraft = base.isDraft }: { over?: StoredPage; isDraft?: boolean }) {
      await savePage({ tenantID, base: over, document, ids, isDraft }, setSaved);
      const { kind } = document;
      await queries.invalidateQueries({ queryKey: [kind === 'app-page' ? 'app-pages' : 'dashboards', tenantID] });
      await queries.invalidateQueries({ queryKey: ['page-versions', tenantID] });
    },
  });
  const theirs = save.error instanceof ChangedMeanwhile ? save.error.theirs : undefined;
  useEffect(() => {
    if (!isDirty) return dropUnsaved(base);
    const timer = setTimeout(() => keepUnsaved(base, document, ids), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [isDirty, base, document, ids]);
  return {
    base,
    own,
    isDirty,
    isSaving: save.isPending,
    error: theirs ? null : save.error,
    theirs,
    save: save.mutate,
    /** Goes on from another stored version; what is edited stays. */
    rebase(next: StoredPage) {
      setSaved({ base: next, ids });
      save.reset();
    },
  };
}
