import { readAppPageContent, readDashboardContent } from '../../client/app-pages.ts';
import { newID } from '../../client/new-id.ts';
import {
  createPageWidget,
  deletePageWidget,
  saveAppPage,
  saveDashboard,
  savePageWidget,
} from '../../client/pages-saved.ts';
import { APIError, isRefusal } from '../../client/rest.ts';
import type { Schemas } from '../../client/types.ts';
import {
  appPageOf,
  changesOf,
  dashboardOf,
  type PageDocument,
  type StoredPage,
  type WidgetDraft,
  withKnown,
  withRead,
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
 * Saves new widgets, the page, and changed widgets, in this order: a page never names what is not there, and its refusal leaves all as it
 * was. What ends halfway is saved again from where it was: `onProgress` is told what is stored.
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
  try {
    for (const widget of changesOf(storedDocument(document, now.ids), now.base).created) {
      const given = document.widgets[widget.key] ?? widget;
      const { id, versionNumber } = await createWidget(tenantID, widget, requestKeyOf(given));
      note({ ids: { ...now.ids, [widget.key]: id }, base: withRead(now.base, { ...widget, id }, versionNumber) });
    }
    const sent = storedDocument(document, now.ids);
    if (changesOf(sent, now.base).isPageChanged || isDraft !== base.isDraft)
      note({ base: await saveContent(tenantID, now.base, { sent, isDraft }) });
  } catch (error) {
    // Another version of the page may be this one, of which the answer was lost.
    if (isRefusal(error) && error.code !== 'PRECONDITION_FAILED')
      note({ ids: await withoutCreated(tenantID, { document, before: ids, created: now.ids }) });
    throw error;
  }
  const sent = storedDocument(document, now.ids);
  const isKnown = ({ id = '' }: WidgetDraft) => now.base.known[id] !== undefined;
  if (!Object.values(sent.widgets).every(isKnown))
    note({ base: withKnown(now.base, await readStored(tenantID, document)) });
  for (const widget of changesOf(sent, now.base).changed) note({ base: await saveWidget(tenantID, now.base, widget) });
}

async function createWidget(tenantID: string, widget: WidgetDraft, requestKey: string) {
  const { title: widgetTitle, type: widgetType, config: widgetConfig, refreshInterval } = widget;
  const given = { widgetTitle, widgetType, widgetConfig, refreshInterval } as Schemas['WidgetCreate'];
  const { widgetID: id, versionNumber } = await createPageWidget(tenantID, given, requestKey);
  return { id, versionNumber };
}

interface Created {
  document: PageDocument;
  before: SavedIDs;
  created: SavedIDs;
}

/** Deletes widgets that were made for a page which was refused. Those that cannot be deleted are used when it is saved again. */
async function withoutCreated(tenantID: string, { document, before, created }: Created): Promise<SavedIDs> {
  const left: Record<string, string> = { ...created };
  for (const [key, widgetID] of Object.entries(created)) {
    if (before[key] !== undefined) continue;
    const isDeleted = await deletePageWidget({ tenantID, widgetID }).then(
      () => true,
      () => false,
    );
    if (!isDeleted) continue;
    delete left[key];
    const widget = document.widgets[key];
    // The same request would be answered with the widget that is gone.
    if (widget) requestKeys.delete(widget);
  }
  return left;
}

/** The same for each request with the same content: after a lost answer, a repetition creates nothing. */
function requestKeyOf(widget: WidgetDraft): string {
  const key = requestKeys.get(widget) ?? newID();
  requestKeys.set(widget, key);
  return key;
}

const requestKeys = new WeakMap<WidgetDraft, string>();

/** Whether something that would be overwritten is another one by now. A widget that the page does not show yet is asked for by its version. */
function isOther(base: StoredPage, theirs: StoredPage, document: PageDocument): boolean {
  if (theirs.versionNumber !== base.versionNumber) return true;
  return changesOf(document, base).changed.some(({ id = '' }) => {
    const version = theirs.widgetVersions[id];
    return version !== undefined && version !== base.widgetVersions[id];
  });
}

async function saveWidget(tenantID: string, base: StoredPage, widget: WidgetDraft): Promise<StoredPage> {
  const { id: widgetID = '', title: widgetTitle, config, refreshInterval } = widget;
  const widgetConfig = config as Schemas['WidgetUpdate']['widgetConfig'];
  const change = { widgetTitle, widgetConfig, refreshInterval } as Schemas['WidgetUpdate'];
  const saved = await savePageWidget({ tenantID, widgetID }, change, base.widgetVersions[widgetID] ?? 0);
  return shown(withRead(base, { ...widget, id: widgetID }, saved.versionNumber), base.document);
}

/** With this page as the stored one, whose widgets are as they are known. */
function shown(base: StoredPage, page: PageDocument): StoredPage {
  const widgets = Object.values(page.widgets).map((one): [string, WidgetDraft] => [
    one.key,
    { ...(base.known[one.id ?? ''] ?? one), key: one.key },
  ]);
  return { ...base, document: { ...page, widgets: Object.fromEntries(widgets) } };
}

async function saveContent(
  tenantID: string,
  base: StoredPage,
  { sent, isDraft }: { sent: PageDocument; isDraft: boolean },
): Promise<StoredPage> {
  const { versionNumber, isDraft: wasDraft } = base;
  const { kind, title, description = null, config, id } = sent;
  if (kind === 'dashboard') {
    const change = { dashboardTitle: title, dashboardDescription: description, dashboardConfig: config };
    const path = { tenantID, dashboardID: id };
    const saved = await saveDashboard(path, change as Schemas['DashboardUpdate'], versionNumber);
    return { ...shown(base, sent), versionNumber: saved.versionNumber, updatedAt: saved.updatedAt, isDraft: false };
  }
  const change = {
    ...{ appPageTitle: title, appPageDescription: description, appPageConfig: config },
    ...(isDraft !== wasDraft && { isDraft }),
  };
  const saved = await saveAppPage({ tenantID, appPageID: id }, change as Schemas['AppPageUpdate'], versionNumber);
  const { updatedAt } = saved;
  return { ...shown(base, sent), versionNumber: saved.versionNumber, updatedAt, isDraft: saved.isDraft };
}
