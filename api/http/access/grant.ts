import {
  type AssetPermission,
  catalogue,
  permissions as everyPermission,
  type ResourcePermission,
  type RolePermission,
  splitPermission,
} from '#shared/access/policy/permissions.ts';
import type { RoleContent } from '#shared/access/policy/roles.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Demand } from '../route/input.ts';
import type { Authorizer } from './authorize.ts';

export type Granter = Pick<Authorizer, 'require' | 'holds'>;

/**
 * Requires that a caller holds every permission it grants, without a deny inside of it. Throws PERMISSION_DENIED that names
 * the first missing one.
 */
export async function requireGrantable(
  granter: Granter,
  { permissions = [], assetPermissions = [] }: Partial<RoleContent>,
): Promise<void> {
  for (const permission of permissions) if (!(await holds(granter, permission))) throw cannotGrant(permission);
  for (const asset of assetPermissions) if (!(await holdsOnAsset(granter, asset))) throw cannotGrant(nameOf(asset));
}

/** `*` is more than the sum of today's permissions: it needs a rule of its own. */
async function holds(granter: Granter, permission: RolePermission): Promise<boolean> {
  if (permission !== '*' && !permission.endsWith('.*')) return granter.holds(permission);
  if (permission !== '*') return holdsAll(granter, permission as ResourcePermission);
  if (!(await isAllowed(granter, { permission: 'tenant.*', object: '*' }))) return false;
  for (const each of everyPermission) if (!(await granter.holds(each))) return false;
  return true;
}

/** A deny of one action does not deny `*`, so each action is checked too. */
async function holdsAll(granter: Granter, permission: ResourcePermission): Promise<boolean> {
  if (!(await granter.holds(permission))) return false;
  const [resource] = splitPermission(permission);
  for (const each of everyPermission) if (each.startsWith(`${resource}.`) && !(await granter.holds(each))) return false;
  return true;
}

async function holdsOnAsset(granter: Granter, { resourceType, resourceID, action }: AssetPermission): Promise<boolean> {
  const actions = action === '*' ? ['*', ...catalogue[resourceType]] : [action];
  for (const each of actions) {
    // The schema has checked that the action belongs to the type.
    const permission = `${resourceType}.${each}` as Demand['permission'];
    if (!(await isAllowed(granter, { permission, object: `${resourceType}:${resourceID}` }))) return false;
  }
  return true;
}

export async function isAllowed(granter: Pick<Granter, 'require'>, access: Demand): Promise<boolean> {
  try {
    await granter.require([access]);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'PERMISSION_DENIED') return false;
    throw error;
  }
}

function nameOf({ resourceType, resourceID, action }: AssetPermission): string {
  return `${resourceType}.${action} on ${resourceID}`;
}

function cannotGrant(what: string): AppError {
  return new AppError('PERMISSION_DENIED', `You cannot grant ${what}: you do not hold it yourself`);
}
