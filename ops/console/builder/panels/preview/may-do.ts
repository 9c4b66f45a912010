import { assetsOf, type Grants, isOnAll } from '../../../people/grants.ts';
import { isObject } from '../../../ui/is-object.ts';
import type { PageDocument, WidgetDraft } from '../../document.ts';
import { needsOf } from '../sharing/share.ts';

/** Something on a page that needs a right of the viewer. */
export interface Demand {
  /** The widget at which it is; undefined: the page itself. */
  widget: WidgetDraft | undefined;
  /** The deed of the viewer, behind “to”. */
  what: string;
  permission: string;
  /** On which assets; empty: on its type. */
  ids: readonly string[];
  type: 'dataQuery' | 'workflow' | 'appPage' | 'widget' | undefined;
}

/** All that a viewer of a page needs rights for. What the page binds itself needs none. */
export function demandsOf(document: PageDocument): Demand[] {
  const [page, ...parts] = needsOf(document);
  const opening: Demand[] = page
    ? [{ ...{ widget: undefined, what: 'open the page', permission: page.permission }, ids: page.ids, type: undefined }]
    : [];
  const bound = new Set(boundIDs(document));
  const widgets = Object.values(document.widgets).flatMap((widget) => [
    ...parts.map(({ permission }) => seen(widget, permission)),
    // Files that widgets of a page show are read with the page.
    ...(document.kind === 'dashboard' ? fileDemands(widget) : []),
    ...widgetDemands(widget, bound),
  ]);
  return [...opening, ...widgets];
}

function seen(widget: WidgetDraft, permission: string): Demand {
  return { widget, what: 'see it', permission, ids: widget.id === undefined ? [] : [widget.id], type: 'widget' };
}

function boundIDs({ config: { dataSources } }: PageDocument): unknown[] {
  const sources = Array.isArray(dataSources) ? dataSources.filter(isObject) : [];
  return sources.filter(({ type }) => type !== 'runs').flatMap(({ queryID, workflowID }) => [queryID, workflowID]);
}

function fileDemands(widget: WidgetDraft): Demand[] {
  const properties = isObject(widget.config.properties) ? widget.config.properties : {};
  const isShown = [properties.src, properties.poster].some((at) => String(at ?? '').includes('/widgets/files?'));
  return isShown ? [{ widget, what: 'see its file', permission: 'widget.execute', ids: [], type: undefined }] : [];
}

function widgetDemands(widget: WidgetDraft, bound: ReadonlySet<unknown>): Demand[] {
  const { type, config } = widget;
  const own: Demand[] = [];
  if (type === 'file-upload')
    own.push({ widget, what: 'upload a file', permission: 'widget.create', ids: [], type: undefined });
  return [...own, ...actionsIn(config).flatMap((action) => actionDemand(widget, action, bound) ?? [])];
}

function actionsIn({ events }: WidgetDraft['config']): Readonly<Record<string, unknown>>[] {
  if (!isObject(events)) return [];
  return Object.values(events).flatMap((actions) => (Array.isArray(actions) ? actions.filter(isObject) : []));
}

function actionDemand(
  widget: WidgetDraft,
  { type, alias, queryID, workflowID, appPageID }: Readonly<Record<string, unknown>>,
  bound: ReadonlySet<unknown>,
): Demand | undefined {
  const on = (id: unknown) => (typeof id === 'string' && id !== '' && !bound.has(id) ? [id] : undefined);
  const demand = (ids: string[] | undefined, what: string, permission: string, picked: Demand['type']) =>
    ids && { widget, what, permission, ids, type: picked };
  if (type === 'TRIGGER_QUERY') return demand(on(queryID), 'run the query', 'dataquery.execute', 'dataQuery');
  if (type === 'TRIGGER_WORKFLOW' && alias === undefined)
    return demand(on(workflowID), 'start the workflow', 'workflow.execute', 'workflow');
  if (type === 'OPEN_PAGE') return demand(on(appPageID), 'open the page', 'appPage.read', 'appPage');
  return undefined;
}

/** Whether roles together permit it. A right on one asset counts for what is asked of its type: the API filters. */
export function isPermitted({ permission, ids }: Demand, roles: readonly Grants[]): boolean {
  if (roles.some((role) => isOnAll(role, permission))) return true;
  const single = new Set(roles.flatMap((role) => assetsOf(role, permission)));
  return ids.length === 0 ? single.size > 0 && permission === 'widget.execute' : ids.every((id) => single.has(id));
}
