import { keep } from '../../client/keep.ts';
import { isObject } from '../../ui/is-object.ts';
import type { PageDocument, StoredPage } from '../document.ts';
import type { SavedIDs } from './stored-document.ts';

/** Changes of a page that are not saved, as the tab keeps them over a reload. */
interface Unsaved {
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
  const unsaved: Unsaved = { versionNumber, document, ids, at: new Date().toISOString() };
  keep(keyOf(base), JSON.stringify(unsaved));
}

export function dropUnsaved({ document }: StoredPage): void {
  sessionStorage.removeItem(keyOf(document));
}

/** Changes that were kept of the version that is stored: changes of an earlier one are those that were lost or saved. */
export function unsavedOf({ document, versionNumber }: StoredPage): Unsaved | undefined {
  try {
    const unsaved: unknown = JSON.parse(sessionStorage.getItem(keyOf(document)) ?? 'null');
    const isIt = isObject(unsaved) && unsaved.versionNumber === versionNumber && isObject(unsaved.document);
    // Safe: written by this module.
    return isIt ? (unsaved as unknown as Unsaved) : undefined;
  } catch {
    return undefined;
  }
}
