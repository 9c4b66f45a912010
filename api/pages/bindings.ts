import type { Permission } from '#shared/access/policy/permissions.ts';
import { isJsonObject, type JsonObject } from '#shared/core/json.ts';

type BoundType = 'query' | 'workflow' | 'listener';

/** A data source of a page: what it runs or shows, and with which parameters. */
export interface Binding {
  alias: string;
  type: BoundType;
  /** The id of the query, workflow or listener. */
  id: string;
  inputValues: JsonObject;
  /** The position among the data sources of the page. */
  index: number;
}

/** The field with the id, and the permission to bind it, by type. */
export const boundTypes = {
  query: { field: 'queryID', resource: 'dataquery', noun: 'data query' },
  workflow: { field: 'workflowID', resource: 'workflow', noun: 'workflow' },
  listener: { field: 'listenerID', resource: 'listener', noun: 'listener' },
} as const satisfies Record<BoundType, { field: string; resource: string; noun: string }>;

/** Bindings in the saved config of a page. Its shape was checked when it was saved, by the rules of that time. */
export function bindingsOf({ dataSources }: JsonObject): Binding[] {
  if (!Array.isArray(dataSources)) return [];
  return dataSources.flatMap((source, index) => {
    if (!isJsonObject(source)) return [];
    const { alias, type, inputValues } = source;
    if (type !== 'query' && type !== 'workflow' && type !== 'listener') return [];
    const id = source[boundTypes[type].field];
    if (typeof alias !== 'string' || typeof id !== 'string') return [];
    return [{ alias, type, id, inputValues: isJsonObject(inputValues) ? inputValues : {}, index }];
  });
}

/** A permission that a page needs for what it names. */
export interface PageDemand {
  permission: Permission;
  object: string;
}

/** The permissions that the creator of a page, and the caller who saves it, need for what it names; each once. */
export function demandsOf(config: JsonObject): PageDemand[] {
  const named = bindingsOf(config).map(({ type, id }): PageDemand => {
    const { resource } = boundTypes[type];
    return { permission: `${resource}.execute`, object: `${resource}:${id}` };
  });
  const shown = placedWidgetsOf(config).map(
    ({ widgetID }): PageDemand => ({ permission: 'widget.execute', object: `widget:${widgetID}` }),
  );
  return [...new Map([...named, ...shown].map((demand) => [demand.object, demand])).values()];
}

/** The widgets of a page or a dashboard, by keys `widget_<widgetID>_<suffix>`; each key once. */
export function placedWidgetsOf({ widgets }: JsonObject): { widgetKey: string; widgetID: string }[] {
  if (!Array.isArray(widgets)) return [];
  return [...new Set(widgets)].flatMap((widgetKey) => {
    const widgetID = typeof widgetKey === 'string' ? WIDGET_KEY.exec(widgetKey)?.[1]?.toLowerCase() : undefined;
    return typeof widgetKey === 'string' && widgetID !== undefined ? [{ widgetKey, widgetID }] : [];
  });
}

const WIDGET_KEY = /^widget_([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?:_|$)/i;
