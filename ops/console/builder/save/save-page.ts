import { readAppPageContent, readDashboardContent } from '../../client/app-pages.ts';
import { newID } from '../../client/new-id.ts';
import { createPageWidget, saveAppPage, saveDashboard, savePageWidget } from '../../client/pages-saved.ts';
import { APIError } from '../../client/rest.ts';
import type { Schemas } from '../../client/types.ts';
import {
  appPageOf,
  changesOf,
  dashboardOf,
  type PageDocument,
  type StoredPage,
  type WidgetDraft,
} from '../document.ts';
import { type SavedIDs, storedDocument } from './stored-document.ts';

export async function readStored(tenantID: string, page: Pick<PageDocument, 'kind' | 'id'>): Promise<StoredPage> {
  if (page.kind === 'app-page') return appPageOf(await readAppPageContent({ tenantID, appPageID: page.id }));
  return dashboardOf(await readDashboardContent({ tenantID, dashboardID: page.id }));
}

interface Saving {
  tenantID: string;
  base: StoredPage;
  document: PageDocument;
  ids: SavedIDs;
  isDraft: boolean;
}

/** Another person has saved something that this document changes too. */
export class ChangedMeanwhile extends Error {
  readonly theirs: StoredPage;

  constructor(theirs: StoredPage) {
    super('This page was changed meanwhile');
    this.theirs = theirs;
  }
}

/**
 * Saves new widgets, changed ones and the page, in this order: a page never names what is not there. What ends halfway is saved again from
 * where it was: `onProgress` is told what is stored.
 */
export async function savePage(saving: Saving, onProgress: (progress: Progress) => void): Promise<void> {
  try {
    await saveParts(saving, onProgress);
  } catch (error) {
    if (!(error instanceof APIError) || error.code !== 'PRECONDITION_FAILED') throw error;
    throw new ChangedMeanwhile(await readStored(saving.tenantID, saving.document));
  }
}

export interface Progress {
  ids: SavedIDs;
  base: StoredPage;
}

async function saveParts(
  { tenantID, base, document, ids, isDraft }: Saving,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  const theirs = await readStored(tenantID, document);
  if (isOther(base, theirs, storedDocument(document, ids))) throw new ChangedMeanwhile(theirs);
  let now = { ids, base };
  const note = (next: Partial<typeof now>) => {
    now = { ...now, ...next };
    onProgress(now);
  };
  for (const widget of changesOf(storedDocument(document, now.ids), base.document).created) {
    const body = { widgetTitle: widget.title, widgetType: widget.type, widgetConfig: widget.config };
    const { refreshInterval } = widget;
    const given = { ...body, refreshInterval } as Schemas['WidgetCreate'];
    const saved = await createPageWidget(tenantID, given, requestKeyOf(document.widgets[widget.key] ?? widget));
    const widgetVersions = { ...now.base.widgetVersions, [saved.widgetID]: saved.versionNumber };
    note({ ids: { ...now.ids, [widget.key]: saved.widgetID }, base: { ...now.base, widgetVersions } });
  }
  for (const widget of changesOf(storedDocument(document, now.ids), now.base.document).changed)
    note({ base: await saveWidget(tenantID, now.base, widget) });
  const sent = storedDocument(document, now.ids);
  const isOtherPage = changesOf(sent, now.base.document).isPageChanged || isDraft !== base.isDraft;
  const saved = isOtherPage ? await saveContent(tenantID, now.base, { sent, isDraft }) : now.base;
  note({ base: { ...now.base, ...saved, document: sent } });
  // A stored widget that was put on the page was read apart from it: its version comes with the page.
  const isKnown = ({ id = '' }: WidgetDraft) => now.base.widgetVersions[id] !== undefined;
  if (Object.values(sent.widgets).every(isKnown)) return;
  note({ base: await readStored(tenantID, document) });
  for (const widget of changesOf(sent, now.base.document).changed)
    note({ base: await saveWidget(tenantID, now.base, widget) });
}

/** The same for each request with the same content: after a lost answer, a repetition creates nothing. */
function requestKeyOf(widget: WidgetDraft): string {
  const key = requestKeys.get(widget) ?? newID();
  requestKeys.set(widget, key);
  return key;
}

const requestKeys = new WeakMap<WidgetDraft, string>();

/** Whether something that would be overwritten is another one by now. */
function isOther(base: StoredPage, theirs: StoredPage, document: PageDocument): boolean {
  if (theirs.versionNumber !== base.versionNumber) return true;
  const { changed } = changesOf(document, base.document);
  return changed.some(({ id = '' }) => base.widgetVersions[id] !== theirs.widgetVersions[id]);
}

async function saveWidget(tenantID: string, base: StoredPage, widget: WidgetDraft): Promise<StoredPage> {
  const { id: widgetID = '', title: widgetTitle, config, refreshInterval } = widget;
  const widgetConfig = config as Schemas['WidgetUpdate']['widgetConfig'];
  const change = { widgetTitle, widgetConfig, refreshInterval } as Schemas['WidgetUpdate'];
  const saved = await savePageWidget({ tenantID, widgetID }, change, base.widgetVersions[widgetID] ?? 0);
  const { document, widgetVersions } = base;
  const same = Object.values(document.widgets).map((one): [string, WidgetDraft] => [
    one.key,
    one.id === widgetID ? { ...widget, key: one.key } : one,
  ]);
  return {
    ...base,
    document: { ...document, widgets: Object.fromEntries(same) },
    widgetVersions: { ...widgetVersions, [widgetID]: saved.versionNumber },
  };
}

async function saveContent(
  tenantID: string,
  { versionNumber, document, isDraft: wasDraft }: StoredPage,
  { sent, isDraft }: { sent: PageDocument; isDraft: boolean },
): Promise<Pick<StoredPage, 'versionNumber' | 'updatedAt' | 'isDraft'>> {
  const { title, description = null, config, id } = sent;
  if (document.kind === 'dashboard') {
    const change = { dashboardTitle: title, dashboardDescription: description, dashboardConfig: config };
    const path = { tenantID, dashboardID: id };
    const saved = await saveDashboard(path, change as Schemas['DashboardUpdate'], versionNumber);
    return { versionNumber: saved.versionNumber, updatedAt: saved.updatedAt, isDraft: false };
  }
  const change = {
    ...{ appPageTitle: title, appPageDescription: description, appPageConfig: config },
    ...(isDraft !== wasDraft && { isDraft }),
  };
  const saved = await saveAppPage({ tenantID, appPageID: id }, change as Schemas['AppPageUpdate'], versionNumber);
  return { versionNumber: saved.versionNumber, updatedAt: saved.updatedAt, isDraft: saved.isDraft };
}
