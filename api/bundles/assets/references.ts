import type { Resource } from '#shared/access/policy/permissions.ts';
import { widgetAssets } from '#shared/apps/widgets/named-assets.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import type { Path } from '#shared/core/schema/issues.ts';
import { findActionType, namedIn } from '#shared/triggers/listeners/actions.ts';
import { findNodeKind } from '#shared/workflow/nodes/index.ts';
import { namedAssets } from '#shared/workflow/nodes/named-assets.ts';
import { bindingsOf, boundTypes } from '../../pages/bindings.ts';
import type { BundledType, UnbundledType } from './bundle-types.ts';
import { mentionsIn } from './mentions.ts';

/** An asset that the payload of another one names. */
export interface Reference {
  type: BundledType | UnbundledType;
  /** In lower case, as rows have it. */
  id: string;
  /** The path of the text that is the id, or that the id is a part of. */
  path: Path;
  /** Whether the asset cannot be saved without the one that it names. */
  isNeeded: boolean;
  /** Whether the id is in the key at the end of the path. */
  isKey?: true;
  /**
   * Whether the id may be that of something else, such as a user. It is replaced if it is that of a bundled asset, and
   * never reported missing.
   */
  isGuess?: true;
}

/** Types by resource, as permissions name it. */
export const typeOfResource: Readonly<Partial<Record<Resource, BundledType>>> = {
  folder: 'folder',
  variable: 'variable',
  datasource: 'datasource',
  dataquery: 'dataQuery',
  workflow: 'workflow',
  widget: 'widget',
  listener: 'listener',
  appPage: 'appPage',
  dashboard: 'dashboard',
  cronjob: 'cronJob',
  role: 'role',
};

/**
 * Finds all assets that a payload names: those that node kinds, widgets, pages, actions and datasources declare, then those that other
 * JSON of an admin UI mentions. Each location is listed once. Each `yield` lets `runCooperatively` pause.
 */
export function* referencesIn(type: BundledType, payload: JsonObject): Generator<void, Reference[]> {
  const found = finders[type](payload);
  const own = Array.isArray(found) ? found : yield* found;
  const declared = [...optional(payload.folderID, 'folder', ['folderID']), ...own];
  const byLocation = new Map<string, Reference>();
  for (const [index, one] of declared.entries()) {
    if (index % 1_000 === 999) yield;
    const location = [one.isKey ? 'key' : '', ...one.path].join('\0');
    if (!byLocation.has(location)) byLocation.set(location, one);
  }
  return [...byLocation.values()];
}

type Finder = (payload: JsonObject) => Reference[] | Generator<void, Reference[]>;

const finders: Readonly<Record<BundledType, Finder>> = {
  folder({ parentFolderID }) {
    return optional(parentFolderID, 'folder', ['parentFolderID']);
  },
  variable() {
    return [];
  },
  datasource({ datasourceOptions }) {
    const options = objectOf(datasourceOptions);
    const { authType, oauthConnectionID, fileInfo } = options;
    const at = ['datasourceOptions'];
    const used = authType === 'oauthConnection' ? needed : optional;
    return [
      ...used(oauthConnectionID, 'oauthConnection', [...at, 'oauthConnectionID']),
      ...optional(objectOf(fileInfo).filePath, 'file', [...at, 'fileInfo', 'filePath']),
    ];
  },
  dataQuery({ datasourceID }) {
    return needed(datasourceID, 'datasource', ['datasourceID']);
  },
  *workflow({ workflowNodes, workflowOptions, draft }) {
    const found: Reference[] = [];
    for (const [index, node] of listOf(workflowNodes).entries()) {
      if (index % 100 === 99) yield;
      found.push(...namedByNode(node, ['workflowNodes', index, 'data'], draft !== true));
    }
    const { onFailure } = objectOf(workflowOptions);
    const at = ['workflowOptions', 'onFailure', 'workflowID'];
    const used = draft === true ? optional : needed;
    return [...found, ...used(objectOf(onFailure).workflowID, 'workflow', at)];
  },
  *widget({ widgetConfig }) {
    const config = objectOf(widgetConfig);
    const at = ['widgetConfig'];
    const bound = widgetAssets(config).map(({ type, id, path }) => reference(type, id, [...at, ...path]));
    return [...bound, ...(yield* mentionsIn(config, at))];
  },
  listener({ datasourceID, actions }) {
    const named = listOf(actions).flatMap((action, index) => namedByAction(action, ['actions', index, 'actionConfig']));
    return [...needed(datasourceID, 'datasource', ['datasourceID']), ...named];
  },
  *appPage({ appPageConfig, isDraft }) {
    const config = objectOf(appPageConfig);
    const at = ['appPageConfig'];
    const bound = bindingsOf(config).map(({ type, id, index }) => {
      const { resource, field } = boundTypes[type];
      return { ...reference(resource, id, [...at, 'dataSources', index, field]), isNeeded: isDraft !== true };
    });
    return [...bound, ...(yield* mentionsIn(config, at))];
  },
  *dashboard({ dashboardConfig }) {
    return yield* mentionsIn(objectOf(dashboardConfig), ['dashboardConfig']);
  },
  cronJob({ cronJobConfig }) {
    const { workflowID, dataQueryID } = objectOf(cronJobConfig);
    return [
      ...needed(workflowID, 'workflow', ['cronJobConfig', 'workflowID']),
      ...needed(dataQueryID, 'dataQuery', ['cronJobConfig', 'dataQueryID']),
    ];
  },
  role({ assetPermissions }) {
    return listOf(assetPermissions).flatMap((permission, index) => {
      const { resourceType, resourceID } = objectOf(permission);
      const type = typeof resourceType === 'string' ? typeOfResource[resourceType as Resource] : undefined;
      return type ? optional(resourceID, type, ['assetPermissions', index, 'resourceID']) : [];
    });
  },
};

function namedByNode(node: Json, at: Path, isNeeded: boolean): Reference[] {
  const { type, data } = objectOf(node);
  const definition = typeof type === 'string' ? findNodeKind(type) : undefined;
  if (!definition) return [];
  const named = namedAssets(definition, data).map(({ type: resource, id, path }) => ({
    ...reference(resource, id, [...at, ...path]),
    isNeeded,
  }));
  return [...named, ...rolesIn(objectOf(data).approvers, [...at, 'approvers'])];
}

/** Approvers are ids and names of users and roles; an id may be that of either. */
function rolesIn(approvers: Json | undefined, at: Path): Reference[] {
  return listOf(approvers).flatMap((approver, index) =>
    optional(approver, 'role', [...at, index]).map((one) => ({ ...one, isGuess: true as const })),
  );
}

function namedByAction(action: Json, at: Path): Reference[] {
  const { actionType, actionConfig } = objectOf(action);
  const definition = typeof actionType === 'string' ? findActionType(actionType) : undefined;
  const config = objectOf(actionConfig);
  const named = definition && namedIn(definition, config);
  if (named) return needed(named.id, typeOfResource[named.resource], [...at, named.field]);
  const { mentions } = definition ?? {};
  return mentions ? optional(config[mentions.field], typeOfResource[mentions.resource], [...at, mentions.field]) : [];
}

function reference(resource: Resource, id: string, path: Path): Reference {
  const type = typeOfResource[resource];
  if (!type) throw new Error(`Bundles have no assets of the resource ${resource}`);
  return { type, id: id.toLowerCase(), path, isNeeded: true };
}

function needed(id: Json | undefined, type: Reference['type'] | undefined, path: Path): Reference[] {
  return optional(id, type, path).map((one) => ({ ...one, isNeeded: true }));
}

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i;

function optional(value: Json | undefined, type: Reference['type'] | undefined, path: Path): Reference[] {
  const id = typeof value === 'string' ? UUID.exec(value)?.[0] : undefined;
  return type && id ? [{ type, id: id.toLowerCase(), path, isNeeded: false }] : [];
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/**
 * A copy of a payload with the ids of `idFor` in its references; without an id, a reference stays. Only objects around a
 * reference are copied.
 */
export function withIDs(
  payload: JsonObject,
  references: readonly Reference[],
  idFor: (reference: Reference) => string | undefined,
): JsonObject {
  const copies = new Map<unknown, unknown>();
  const copy = copyIn(copies, payload);
  const renamed = new Map<object, Map<string, string>>();
  for (const one of references) {
    const id = idFor(one);
    if (id === undefined || id === one.id) continue;
    const [last, ...above] = [...one.path].reverse();
    if (last === undefined) continue;
    const parent = above.reverse().reduce<object>((at, key) => {
      const child = copyIn(copies, Reflect.get(at, key));
      Reflect.set(at, key, child);
      return child;
    }, copy);
    if (!one.isKey) Reflect.set(parent, last, String(Reflect.get(parent, last)).replace(UUID, id));
    else renamed.set(parent, (renamed.get(parent) ?? new Map()).set(last, String(last).replace(UUID, id)));
  }
  // Keys are renamed last, since the paths of references have the old keys.
  for (const [parent, names] of renamed) renameKeys(parent, names);
  return copy;
}

/** Renames all keys at once: two keys may be swapped. */
function renameKeys(object: object, names: ReadonlyMap<string, string>): void {
  const entries = Object.entries(object);
  for (const key of names.keys()) Reflect.deleteProperty(object, key);
  for (const [key, value] of entries) {
    const name = names.get(key);
    if (name !== undefined) Reflect.set(object, name, value);
  }
}

function copyIn<T extends object>(copies: Map<unknown, unknown>, value: T): T {
  const known = copies.get(value);
  // Safe: under a value the map has its copy, and under a copy that copy.
  if (known) return known as T;
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as T;
  copies.set(value, copy);
  copies.set(copy, copy);
  return copy;
}
