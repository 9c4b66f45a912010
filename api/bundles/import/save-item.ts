import type { JsonObject } from '#shared/core/json.ts';
import { mapPaths, type Path } from '#shared/core/schema/issues.ts';
import { ListenerAction } from '#shared/entities/tables/listener-action.ts';
import { actionRoutes } from '../../resources/listeners/actions.ts';
import type { BundledType } from '../assets/bundle-types.ts';
import { kinds } from '../assets/kinds.ts';
import { freshIn, type Importing, runHandler } from './run-handler.ts';
import { saveDatasource } from './save-datasource.ts';
import { savers } from './savers.ts';

interface Saved {
  type: BundledType;
  /** The id of the asset of the tenant. */
  id: string;
  /** The asset, with ids of the tenant in place of keys of items. */
  payload: JsonObject;
  isNew: boolean;
  /** Whether an asset that it needs is not saved yet. It is saved again after that asset. */
  isIncomplete?: boolean;
  title: string;
  at: Path;
}

/** Saves one asset. Returns the paths of secrets that it lacks. */
export async function saveItem(importing: Importing, saved: Saved): Promise<Path[]> {
  const { type, id, payload, isNew, isIncomplete = false, title, at } = saved;
  if (type === 'datasource')
    return saveDatasource(importing, { id, payload, isNew }).catch((error: unknown) => {
      throw mapPaths(error, (path) => [...at, ...path]);
    });
  const { create, update, param, notOnCreate = [], notOnUpdate = [], incomplete } = savers[type];
  const what = `The ${kinds[type].noun} "${title}"`;
  const params = { tenantID: importing.input.tenantID, [param]: id };
  if (isNew) {
    const body = { ...without(payload, notOnCreate), ...(isIncomplete && incomplete) };
    await runHandler(importing, create, { body, id, at, what });
    const rest = Object.fromEntries(notOnCreate.map((field) => [field, payload[field]]).filter(([, value]) => value));
    if (Object.keys(rest).length > 0) await runHandler(importing, update, { params, body: rest, at, what });
    return [];
  }
  await runHandler(importing, update, { params, body: without(payload, notOnUpdate), at, what });
  if (type === 'listener') await saveActions(importing, { id, payload, at, what });
  return [];
}

/** Removes an asset that an import has created. */
export async function removeItem(
  importing: Importing,
  { type, id, title }: { type: BundledType; id: string; title: string },
): Promise<void> {
  const { remove, param } = savers[type];
  const what = `The ${kinds[type].noun} "${title}"`;
  await runHandler(importing, remove, { params: { tenantID: importing.input.tenantID, [param]: id }, at: [], what });
}

export function without(payload: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(payload).filter(([field]) => !fields.includes(field)));
}

/** Replaces the actions of a listener: without a key, an action of the item cannot be matched with a stored one. */
async function saveActions(
  importing: Importing,
  { id: listenerID, payload, at, what }: { id: string; payload: JsonObject; at: Path; what: string },
): Promise<void> {
  const { actions } = payload;
  const [add] = actionRoutes;
  if (!Array.isArray(actions) || !add) return;
  const em = freshIn(importing.input.em);
  await em.nativeDelete(ListenerAction, { listenerID });
  for (const [index, action] of actions.entries()) {
    const params = { tenantID: importing.input.tenantID, listenerID };
    await runHandler(importing, add, { params, body: action as JsonObject, at: [...at, 'actions', index], what });
  }
}
