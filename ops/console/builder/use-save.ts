import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { isChanged, type PageDocument, type StoredPage, type WidgetDraft, withKnown, withRead } from './document.ts';
import { ChangedMeanwhile, savePage } from './save/save-page.ts';
import { storedDocument } from './save/stored-document.ts';
import { dropUnsaved, keepUnsaved, type Restored } from './save/unsaved.ts';

interface Needs {
  tenantID: string;
  stored: StoredPage;
  document: PageDocument;
  /** Changes that were not saved before the tab was loaded anew. */
  restored: Restored | undefined;
}

interface Save {
  over?: StoredPage;
  isDraft?: boolean | undefined;
}

/** How long nothing is changed before the tab keeps what is not saved. */
const PAUSE_MS = 500;

/** Saves what is edited, and knows what of it is saved. */
export function useSave({ tenantID, stored, document, restored }: Needs) {
  const queries = useQueryClient();
  const [{ base, ids }, setSaved] = useState({ base: restored?.base ?? stored, ids: restored?.ids ?? {} });
  const [found, setFound] = useState(restored?.theirs);
  const own = useMemo(() => storedDocument(document, ids), [document, ids]);
  const isDirty = useMemo(() => isChanged(own, base), [own, base]);
  const save = useMutation({
    async mutationFn({ over, isDraft }: Save) {
      const from = over ? withKnown(over, base) : base;
      await savePage({ tenantID, base: from, document, ids, isDraft: isDraft ?? from.isDraft }, setSaved);
      setFound(undefined);
      const { kind } = document;
      await queries.invalidateQueries({ queryKey: [kind === 'app-page' ? 'app-pages' : 'dashboards', tenantID] });
      await queries.invalidateQueries({ queryKey: ['page-versions', tenantID] });
    },
  });
  const theirs = save.error instanceof ChangedMeanwhile ? save.error.theirs : found;
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
    error: save.error instanceof ChangedMeanwhile ? null : save.error,
    theirs,
    save: (isDraft?: boolean) => save.mutate({ isDraft }),
    /** The same, for what waits for it. */
    saved: () => save.mutateAsync({}),
    /** Saves over what another person has saved. A page that was to be published is published by it. */
    overwrite: (over: StoredPage) => save.mutate({ over, isDraft: save.variables?.isDraft }),
    /** Goes on from another stored version; what is edited stays. */
    rebase(next: StoredPage) {
      setSaved({ base: withKnown(next, base), ids });
      setFound(undefined);
      save.reset();
    },
    /** A widget that was read apart from the page is compared with what it was then. */
    know(widget: WidgetDraft & { id: string }, versionNumber: number) {
      setSaved({ base: withRead(base, widget, versionNumber), ids });
    },
  };
}
