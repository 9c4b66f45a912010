import type { Permission } from '#shared/access/policy/permissions.ts';
import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import { type RunColumn, runColumnsOf } from './run-columns.ts';

type BoundType = 'query' | 'workflow' | 'listener' | 'runs';

/** A data source of a page: what it runs or shows, and with which parameters. */
export interface Binding {
  alias: string;
  type: BoundType;
  /** The id of the query, of the workflow that is started or whose runs are read, or of the listener. */
  id: string;
  inputValues: JsonObject;
  /** The position among the data sources of the page. */
  index: number;
  /** The columns of a binding of runs. */
  runColumns: readonly RunColumn[];
}

/** The field with the id, and the permission to bind it, by type. */
export const boundTypes = {
  query: { field: 'queryID', resource: 'dataquery', action: 'execute', noun: 'data query' },
  workflow: { field: 'workflowID', resource: 'workflow', action: 'execute', noun: 'workflow' },
  listener: { field: 'listenerID', resource: 'listener', action: 'execute', noun: 'listener' },
  runs: { field: 'workflowID', resource: 'workflow', action: 'read', noun: 'workflow' },
} as const satisfies Record<BoundType, { field: string; resource: string; action: string; noun: string }>;

/** The permission that a binding needs, and on what. */
export function demandOf({ type, id }: Pick<Binding, 'type' | 'id'>): PageDemand {
  const { resource, action } = boundTypes[type];
  return { permission: `${resource}.${action}`, object: `${resource}:${id}` };
}

/** Bindings in the saved config of a page. Its shape was checked when it was saved, by the rules of that time. */
export function bindingsOf({ dataSources }: JsonObject): Binding[] {
  if (!Array.isArray(dataSources)) return [];
  return dataSources.flatMap((source, index) => {
    if (!isJsonObject(source)) return [];
    const { alias, type, inputValues } = source;
    if (!isBoundType(type)) return [];
    const id = source[boundTypes[type].field];
    if (typeof alias !== 'string' || typeof id !== 'string') return [];
    const runColumns = runColumnsOf(source.runColumns);
    return [{ alias, type, id, inputValues: isJsonObject(inputValues) ? inputValues : {}, index, runColumns }];
  });
}

function isBoundType(type: unknown): type is BoundType {
  return typeof type === 'string' && Object.hasOwn(boundTypes, type);
}

/** A permission that a page needs for what it names. */
export interface PageDemand {
  permission: Permission;
  object: string;
}

/** The permissions that the creator of a page, and the caller who saves it, need for what it names; each once. */
export function demandsOf(config: JsonObject): PageDemand[] {
  const named = bindingsOf(config).map(demandOf);
  const shown = placedWidgetsOf(config).map(
    ({ widgetID }): PageDemand => ({ permission: 'widget.execute', object: `widget:${widgetID}` }),
  );
  return [...new Map([...named, ...shown].map((demand) => [keyOfDemand(demand), demand])).values()];
}

export function keyOfDemand({ permission, object }: PageDemand): string {
  return `${permission} ${object}`;
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
