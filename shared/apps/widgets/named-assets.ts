import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { Path } from '../../core/schema/issues.ts';

/** An asset that a widget's config names, in a binding or in an action of an event. */
export interface WidgetAsset {
  type: 'dataquery' | 'workflow';
  /** In lower case, as rows and rules have it. */
  id: string;
  /** Path of the id inside of the config. */
  path: (string | number)[];
}

const KEYS: ReadonlyMap<string, WidgetAsset['type']> = new Map([
  ['dataQueryID', 'dataquery'],
  ['queryID', 'dataquery'],
  ['workflowID', 'workflow'],
]);

const AssetID = z.uuid().toLowerCase();

/** The assets that a config names. Templates, and values that are no ids, are skipped. */
export function widgetAssets({ dataQueries, events }: JsonObject): WidgetAsset[] {
  const bound = Array.isArray(dataQueries) ? dataQueries : [];
  return [
    ...bound.flatMap((binding, at) => idAt(binding, 'dataQueryID', ['dataQueries', at])),
    ...namedIn(events ?? null, ['events']),
  ];
}

function idAt(value: Json, key: string, path: Path): WidgetAsset[] {
  const type = KEYS.get(key);
  const id = isJsonObject(value) && Object.hasOwn(value, key) ? AssetID.safeParse(value[key]).data : undefined;
  return type && id ? [{ type, id, path: [...path, key] }] : [];
}

interface Visit {
  value: Json;
  path: Path;
}

/** Finds assets in nested actions. A loop and not a recursion, because actions may be nested as deeply as a request's body allows. */
function namedIn(root: Json, at: Path): WidgetAsset[] {
  const found: WidgetAsset[] = [];
  const left: Visit[] = [{ value: root, path: at }];
  for (let visit = left.pop(); visit; visit = left.pop()) {
    const { value, path } = visit;
    if (isJsonObject(value)) for (const key of KEYS.keys()) found.push(...idAt(value, key, path));
    for (const [key, child] of entriesOf(value))
      if (typeof child === 'object' && child !== null) left.push({ value: child, path: [...path, key] });
  }
  return found;
}

function entriesOf(value: Json): Iterable<[string | number, Json]> {
  if (Array.isArray(value)) return value.entries();
  return isJsonObject(value) ? Object.entries(value) : [];
}
