import { keep } from '../../client/keep.ts';
import { isObject } from '../../ui/is-object.ts';
import { isSame, type PageDocument, type StoredPage } from '../document.ts';
import type { SavedIDs } from './stored-document.ts';

/** Changes of a page that are not saved, as the tab keeps them over a reload. */
interface Unsaved {
  versionNumber: number;
  widgetVersions: StoredPage['widgetVersions'];
  document: PageDocument;
  ids: SavedIDs;
  at: string;
}

const keyOf = ({ id }: PageDocument) => `gantry.builder.${id}`;

export function keepUnsaved(
  { versionNumber, widgetVersions, document: base }: StoredPage,
  document: PageDocument,
  ids: SavedIDs,
): void {
  const unsaved: Unsaved = { versionNumber, widgetVersions, document, ids, at: new Date().toISOString() };
  keep(keyOf(base), JSON.stringify(unsaved));
}

export function dropUnsaved({ document }: StoredPage): void {
  sessionStorage.removeItem(keyOf(document));
}

/** Changes that were kept of what is stored. Those of earlier versions were lost or saved, or would undo what others have saved. */
export function unsavedOf({ document, versionNumber, widgetVersions }: StoredPage): Unsaved | undefined {
  try {
    const unsaved: unknown = JSON.parse(sessionStorage.getItem(keyOf(document)) ?? 'null');
    const isIt =
      isObject(unsaved) &&
      isObject(unsaved.document) &&
      unsaved.versionNumber === versionNumber &&
      isSame(unsaved.widgetVersions, widgetVersions);
    // Safe: written by this module.
    return isIt ? (unsaved as unknown as Unsaved) : undefined;
  } catch {
    return undefined;
  }
}
