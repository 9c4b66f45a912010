import { keep } from '../../client/keep.ts';
import { isObject } from '../../ui/is-object.ts';
import type { PageDocument, StoredPage } from '../document.ts';
import type { SavedIDs } from './save-page.ts';

/** What is not saved of a page, as the tab keeps it over a reload. */
interface Kept {
  versionNumber: number;
  document: PageDocument;
  ids: SavedIDs;
  at: string;
}

const keyOf = ({ id }: PageDocument) => `gantry.builder.${id}`;

export function keepUnsaved(
  { versionNumber, document: base }: StoredPage,
  document: PageDocument,
  ids: SavedIDs,
): void {
  const kept: Kept = { versionNumber, document, ids, at: new Date().toISOString() };
  keep(keyOf(base), JSON.stringify(kept));
}

export function dropUnsaved({ document }: StoredPage): void {
  sessionStorage.removeItem(keyOf(document));
}

/** What was kept for the version that is stored: changes of an earlier one are those that were lost or saved. */
export function unsavedOf({ document, versionNumber }: StoredPage): Kept | undefined {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(keyOf(document)) ?? 'null');
    const isIt = isObject(kept) && kept.versionNumber === versionNumber && isObject(kept.document);
    // Safe: written by this module.
    return isIt ? (kept as unknown as Kept) : undefined;
  } catch {
    return undefined;
  }
}
