import type { Schemas } from '../client/types.ts';

export type Values = Readonly<Record<string, unknown>>;

/** A widget as it is edited: of a page that is stored, or a new one. */
export interface WidgetDraft {
  /** As `widgets` of the page has it. A new widget has a provisional one, which saving replaces in all that is sent. */
  key: string;
  /** Undefined: it is not stored yet. */
  id?: string;
  title: string;
  type: string;
  /** `widgetConfig`, with `properties`, `events`, `dataQueries` and what else it has. */
  config: Values;
  /** Seconds. */
  refreshInterval: number;
  /** Why the widget cannot be shown, and so not be edited. */
  error?: { code: string; message: string };
}

/** A page or a dashboard while it is edited. */
export interface PageDocument {
  kind: 'app-page' | 'dashboard';
  id: string;
  title: string;
  description?: string;
  /** `appPageConfig` or `dashboardConfig` as it is stored, with fields that the builder does not know. */
  config: Values;
  widgets: Readonly<Record<string, WidgetDraft>>;
}

export type Edit = (document: PageDocument) => PageDocument;

/** A page as it is stored, and of which versions it consists. */
export interface StoredPage {
  document: PageDocument;
  versionNumber: number;
  /** Versions by the ids of widgets. */
  widgetVersions: Readonly<Record<string, number>>;
  /** The widgets of these versions, by their ids: also those that the page does not show, or not any more, which a change may bring back. */
  known: Readonly<Record<string, WidgetDraft>>;
  updatedAt: string;
  /** A draft of an app page runs nothing for its viewers. */
  isDraft: boolean;
}

type Placed = Schemas['PlacedWidget'];

export function appPageOf({ appPage, widgets }: { appPage: Schemas['AppPage']; widgets: Placed[] }): StoredPage {
  const { appPageID: id, appPageTitle: title, appPageDescription: description, appPageConfig: config } = appPage;
  return { ...storedPage({ kind: 'app-page', id, title, description, config }, widgets), ...stampOf(appPage) };
}

export function dashboardOf(read: { dashboard: Schemas['Dashboard']; widgets: Placed[] }): StoredPage {
  const { dashboard, widgets } = read;
  const { dashboardID: id, dashboardTitle: title, dashboardDescription: description, dashboardConfig } = dashboard;
  const page = { kind: 'dashboard', id, title, description, config: dashboardConfig } as const;
  return { ...storedPage(page, widgets), ...stampOf(dashboard) };
}

interface Stamped {
  versionNumber: number;
  updatedAt: string;
  isDraft?: boolean;
}

function stampOf({ versionNumber, updatedAt, isDraft = false }: Stamped) {
  return { versionNumber, updatedAt, isDraft };
}

type Page = Pick<PageDocument, 'kind' | 'id' | 'title' | 'config'> & { description: string | null };

function storedPage({ description, ...page }: Page, placed: readonly Placed[]) {
  const widgets = placed.map((one): [string, WidgetDraft] => [one.widgetKey, widgetOf(one)]);
  const versions = placed.map(({ widgetID, versionNumber }): [string, number] => [widgetID, versionNumber]);
  const document: PageDocument = {
    ...page,
    ...(description !== null && { description }),
    widgets: Object.fromEntries(widgets),
  };
  return { document, widgetVersions: Object.fromEntries(versions), known: byID(document) };
}

function byID({ widgets }: PageDocument): Record<string, WidgetDraft> {
  return Object.fromEntries(Object.values(widgets).flatMap((one) => (one.id === undefined ? [] : [[one.id, one]])));
}

/** Another stored version, with what is known of widgets that it does not show. */
export function withKnown(next: StoredPage, before: StoredPage): StoredPage {
  return {
    ...next,
    widgetVersions: { ...before.widgetVersions, ...next.widgetVersions },
    known: { ...before.known, ...next.known },
  };
}

/** With a widget that was read apart from the page. */
export function withRead(base: StoredPage, widget: WidgetDraft & { id: string }, versionNumber: number): StoredPage {
  return {
    ...base,
    widgetVersions: { ...base.widgetVersions, [widget.id]: versionNumber },
    known: { ...base.known, [widget.id]: widget },
  };
}

function widgetOf(placed: Placed): WidgetDraft {
  const { widgetKey: key, widgetID: id, widgetTitle: title, widgetType: type, widgetConfig: config, error } = placed;
  return { key, id, title, type, config, refreshInterval: placed.refreshInterval, ...(error && { error }) };
}

/** The changes that saving sends. */
export interface Changes {
  /** New ones. */
  created: readonly WidgetDraft[];
  /** Those that are stored and differ; each widget once, also where the page shows it twice. */
  changed: readonly WidgetDraft[];
  /** Whether anything of the page itself differs. */
  isPageChanged: boolean;
}

/** The differences between a document and what is stored. Widgets of which nothing is known are left out. */
export function changesOf(
  now: PageDocument,
  { document: before, known }: Pick<StoredPage, 'document' | 'known'>,
): Changes {
  const widgets = Object.values(now.widgets).filter(({ error }) => !error);
  const changed = widgets.filter(({ id, ...own }) => {
    const old = id === undefined ? undefined : known[id];
    return old !== undefined && !isSame(contentOf(own), contentOf(old));
  });
  return {
    created: widgets.filter(({ id }) => id === undefined),
    changed: [...new Map(changed.map((widget) => [widget.id, widget])).values()],
    isPageChanged:
      now.title !== before.title || now.description !== before.description || !isSame(now.config, before.config),
  };
}

function contentOf({ title, type, config, refreshInterval }: Omit<WidgetDraft, 'key' | 'id'>) {
  return { title, type, config, refreshInterval };
}

export function isChanged(now: PageDocument, before: Pick<StoredPage, 'document' | 'known'>): boolean {
  if (now === before.document) return false;
  const { created, changed, isPageChanged } = changesOf(now, before);
  return isPageChanged || created.length > 0 || changed.length > 0;
}

/** Whether two values are the same in JSON; the order of fields does not count. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [own, others] = [Object.entries(one), new Map(Object.entries(other))];
  return own.length === others.size && own.every(([key, value]) => others.has(key) && isSame(value, others.get(key)));
}
