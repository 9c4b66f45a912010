import { keep } from '../../client/keep.ts';
import { isObject } from '../../ui/is-object.ts';
import { isChanged, type PageDocument, type StoredPage, withKnown } from '../document.ts';
import { type SavedIDs, storedDocument } from './stored-document.ts';

/** Changes of a page that are not saved, as the tab keeps them over a reload, with what they are changes of. */
interface Unsaved {
  base: StoredPage;
  document: PageDocument;
  ids: SavedIDs;
}

export interface Restored extends Unsaved {
  /** Something of it was changed meanwhile: what is stored now. */
  theirs?: StoredPage;
}

const keyOf = ({ id }: PageDocument) => `gantry.builder.${id}`;

export function keepUnsaved(base: StoredPage, document: PageDocument, ids: SavedIDs): void {
  const unsaved: Unsaved = { base, document, ids };
  keep(keyOf(base.document), JSON.stringify(unsaved));
}

export function dropUnsaved({ document }: StoredPage): void {
  sessionStorage.removeItem(keyOf(document));
}

/** Changes that were kept and are not stored yet. */
export function unsavedOf(stored: StoredPage): Restored | undefined {
  try {
    const unsaved: unknown = JSON.parse(sessionStorage.getItem(keyOf(stored.document)) ?? 'null');
    // Those of an earlier release of the console have no base.
    if (!isObject(unsaved) || !isObject(unsaved.document) || !isObject(unsaved.base)) return undefined;
    // Safe: written by this module.
    return restored(unsaved as unknown as Unsaved, stored);
  } catch {
    return undefined;
  }
}

/** The changes that were not saved, once the page is read again. Widgets are compared that both have: one may be new, or taken off. */
export function restored(unsaved: Unsaved, stored: StoredPage): Restored | undefined {
  const { base, document, ids } = unsaved;
  const own = storedDocument(document, ids);
  const now = withKnown(stored, base);
  // Changes are here also if they were saved and the answer was lost.
  if (!isChanged(own, base) || !isChanged(own, now)) return undefined;
  const isSameVersion = ([id, version]: [string, number]) => (base.widgetVersions[id] ?? version) === version;
  const isSame =
    base.versionNumber === stored.versionNumber && Object.entries(stored.widgetVersions).every(isSameVersion);
  return isSame ? { ...unsaved, base: now } : { ...unsaved, theirs: stored };
}
