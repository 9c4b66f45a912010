import type { Schemas } from '../client/types.ts';
import { resourceOf } from './permission-words.ts';

type AssetPermission = Schemas['AssetPermission'];

/** The permissions of a role: on everything of a type, and on single assets. */
export interface Grants {
  rolePermissions: readonly string[];
  assetPermissions: readonly AssetPermission[];
}

/** On what a permission is granted: nothing, everything of its type, or single assets. */
export type Scope = 'none' | 'all' | 'these';

/** Whether a permission is granted on everything of its type, by itself or within a larger one. */
export function isOnAll({ rolePermissions }: Pick<Grants, 'rolePermissions'>, permission: string): boolean {
  return rolePermissions.includes(permission) || isWithin({ rolePermissions }, permission);
}

/** Whether a larger permission grants this one: `*`, or all actions of its type. */
export function isWithin({ rolePermissions }: Pick<Grants, 'rolePermissions'>, permission: string): boolean {
  if (permission === '*') return false;
  return rolePermissions.some((one) => one === '*' || (one !== permission && one === `${resourceOf(permission)}.*`));
}

/** The assets on which a permission is granted one by one. */
export function assetsOf({ assetPermissions }: Pick<Grants, 'assetPermissions'>, permission: string): string[] {
  const on = assetPermissions.filter((one) => `${one.resourceType}.${one.action}` === permission);
  return on.map(({ resourceID }) => resourceID);
}

export function scopeOf(grants: Grants, permission: string): Scope {
  if (isOnAll(grants, permission)) return 'all';
  return assetsOf(grants, permission).length > 0 ? 'these' : 'none';
}

/** Permissions without which one is of no use in the console: a workflow that may be run, but not seen, is not found. */
export function neededBy(permission: string, catalogue: readonly string[]): string[] {
  const resource = resourceOf(permission);
  const action = permission.slice(resource.length + 1);
  const named = [...(acting.has(action) ? [`${resource}.read`] : []), ...(needs[permission] ?? [])];
  const listing = action === 'read' ? [`${resource}.list`] : [];
  return [...named, ...listing, ...inDatabase(permission)].filter(
    (one) => one !== permission && catalogue.includes(one),
  );
}

const acting = new Set(['execute', 'update', 'delete', 'test', 'export']);

const needs: Readonly<Record<string, readonly string[]>> = {
  'role.create': ['permission.list', 'role.read'],
  'role.update': ['permission.list'],
  'user.create': ['user.read', 'role.read'],
  'user.update': ['role.read'],
  'apikey.create': ['apikey.read', 'permission.list'],
  'bundle.execute': ['bundle.preview'],
  'widgetLibrary.install': ['widgetLibrary.list', 'widget.create'],
  'tenant.update': ['tenant.read'],
};

/** The page of the database opens with its schemas, and rows are reached by their table. */
function inDatabase(permission: string): string[] {
  if (resourceOf(permission) !== 'database' || permission === 'database.metadata') return [];
  const [, part = ''] = /^database\.(table|row|trigger)/.exec(permission) ?? [];
  const rows = part === 'row' ? ['database.rowList'] : [];
  return ['database.schemaList', ...(part ? ['database.tableList', 'database.tableRead'] : []), ...rows];
}

/** Those of the needed permissions that are missing where this one is granted, with what these need in turn. */
export function missingFor(grants: Grants, permission: string, catalogue: readonly string[]): string[] {
  const scope = scopeOf(grants, permission);
  if (scope === 'none') return [];
  const missing = new Set<string>();
  const collect = (one: string) => {
    for (const needed of neededBy(one, catalogue)) {
      if (missing.has(needed) || !isMissing(needed, scope)) continue;
      missing.add(needed);
      collect(needed);
    }
  };
  const isMissing = (needed: string, on: Scope): boolean => {
    if (isOnAll(grants, needed)) return false;
    if (on === 'all' || resourceOf(needed) !== resourceOf(permission)) return true;
    // A member who may open one asset finds it in the list.
    if (needed.endsWith('.list')) return false;
    const present = new Set(assetsOf(grants, needed));
    return assetsOf(grants, permission).some((id) => !present.has(id));
  };
  collect(permission);
  return [...missing];
}

/** The grants with a permission on nothing, on everything of its type, or on these assets alone. */
export function withScope(grants: Grants, permission: string, scope: Scope, ids: readonly string[] = []): Grants {
  const resourceType = resourceOf(permission);
  const action = permission.slice(resourceType.length + 1);
  const others = grants.assetPermissions.filter((one) => one.resourceType !== resourceType || one.action !== action);
  const on = scope === 'these' ? ids.map((resourceID) => ({ resourceType, resourceID, action })) : [];
  const general = grants.rolePermissions.filter((one) => one !== permission);
  return {
    rolePermissions: scope === 'all' ? [...general, permission] : general,
    assetPermissions: [...others, ...on],
  };
}

/** Like `withScope`, with what the permission needs on the same assets. */
export function withNeeded(
  grants: Grants,
  permission: string,
  { scope, ids = [], catalogue }: { scope: Scope; ids?: readonly string[]; catalogue: readonly string[] },
): Grants {
  let next = withScope(grants, permission, scope, ids);
  for (const needed of missingFor(next, permission, catalogue)) {
    const isOfType = resourceOf(needed) === resourceOf(permission);
    const all = [...new Set([...assetsOf(next, needed), ...ids])];
    next = withScope(next, needed, scope === 'these' && isOfType ? 'these' : 'all', all);
  }
  return next;
}

/** The granted permissions that need this one. */
export function needing(grants: Grants, permission: string, catalogue: readonly string[]): string[] {
  return catalogue.filter(
    (one) => scopeOf(grants, one) !== 'none' && neededBy(one, catalogue).includes(permission) && !isWithin(grants, one),
  );
}
