import { z } from 'zod';
import { isJsonObject, type Json } from '#shared/core/json.ts';
import type { Path } from '#shared/core/schema/issues.ts';
import type { BundledType } from './bundle-types.ts';

/** An asset that free-form JSON names. */
export interface Mention {
  type: BundledType;
  /** In lower case, as rows have it. */
  id: string;
  /** The path of the text that is the id, or that the id is a part of. */
  path: (string | number)[];
  /** Always false: free-form JSON can be saved even if the asset is missing. */
  isNeeded: false;
  /** Whether the id is in the key at the end of the path, not in the value there. */
  isKey?: true;
}

const KEYS: Readonly<Record<string, BundledType>> = {
  queryID: 'dataQuery',
  dataQueryID: 'dataQuery',
  workflowID: 'workflow',
  childWorkflowID: 'workflow',
  listenerID: 'listener',
  datasourceID: 'datasource',
  widgetID: 'widget',
  appPageID: 'appPage',
  dashboardID: 'dashboard',
};

/** A widget on a page, `widget_<widgetID>_<suffix>`. */
const WIDGET_KEY = /^widget_([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?:_|$)/i;
const AssetID = z.uuid().toLowerCase();

/**
 * Finds the assets that JSON names by the fields and keys that admin UIs use for them. Each `yield` lets
 * `runCooperatively` pause.
 */
export function* mentionsIn(root: Json, at: Path): Generator<void, Mention[]> {
  const found: Mention[] = [];
  const stack: { value: Json; path: Path }[] = [{ value: root, path: at }];
  let entryCount = 0;
  // A stack instead of recursion: configs may be nested as deeply as a body allows.
  for (let next = stack.pop(); next; next = stack.pop()) {
    for (const [key, value] of entriesOf(next.value)) {
      entryCount += 1;
      if (entryCount % 1_000 === 0) yield;
      if (typeof value === 'object') stack.push({ value, path: [...next.path, key] });
      const named = namedBy(key, value);
      if (named) found.push({ ...named, path: [...next.path, key], isNeeded: false });
      const inKey = widgetIn(key);
      if (inKey) found.push({ type: 'widget', id: inKey, path: [...next.path, key], isNeeded: false, isKey: true });
    }
  }
  return found;
}

function namedBy(key: string | number, text: Json): Pick<Mention, 'type' | 'id'> | undefined {
  if (typeof text !== 'string') return undefined;
  const widgetID = widgetIn(text);
  if (widgetID) return { type: 'widget', id: widgetID };
  const type = typeof key === 'string' && Object.hasOwn(KEYS, key) ? KEYS[key] : undefined;
  const id = type && AssetID.safeParse(text).data;
  return type && id ? { type, id } : undefined;
}

function widgetIn(text: string | number): string | undefined {
  if (typeof text !== 'string' || !text.startsWith('widget_')) return undefined;
  return WIDGET_KEY.exec(text)?.[1]?.toLowerCase();
}

function entriesOf(value: Json): Iterable<[string | number, Json]> {
  if (Array.isArray(value)) return value.entries();
  return isJsonObject(value) ? Object.entries(value) : [];
}
