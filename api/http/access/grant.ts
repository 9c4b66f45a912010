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

export type Holder = Pick<Authorizer, 'require' | 'holds'>;

/**
 * Requires that a caller holds every permission it grants, without a deny inside of it. Throws PERMISSION_DENIED that names
 * the first missing one.
 */
export async function requireHeld(
  holder: Holder,
  { permissions = [], assetPermissions = [] }: Partial<RoleContent>,
): Promise<void> {
  for (const permission of permissions) if (!(await holds(holder, permission))) throw cannotGrant(permission);
  for (const asset of assetPermissions) if (!(await holdsOnAsset(holder, asset))) throw cannotGrant(nameOf(asset));
}

/** `*` is more than the sum of today's permissions: it needs a rule of its own. */
async function holds(holder: Holder, permission: RolePermission): Promise<boolean> {
  if (permission !== '*' && !permission.endsWith('.*')) return holder.holds(permission);
  if (permission !== '*') return holdsAll(holder, permission as ResourcePermission);
  if (!(await isAllowed(holder, { permission: 'tenant.*', object: '*' }))) return false;
  for (const each of everyPermission) if (!(await holder.holds(each))) return false;
  return true;
}

/** A deny of one action does not deny `*`, so each action is checked too. */
async function holdsAll(holder: Holder, permission: ResourcePermission): Promise<boolean> {
  if (!(await holder.holds(permission))) return false;
  const [resource] = splitPermission(permission);
  for (const each of everyPermission) if (each.startsWith(`${resource}.`) && !(await holder.holds(each))) return false;
  return true;
}

async function holdsOnAsset(holder: Holder, { resourceType, resourceID, action }: AssetPermission): Promise<boolean> {
  const actions = action === '*' ? ['*', ...catalogue[resourceType]] : [action];
  for (const each of actions) {
    // The schema has checked that the action belongs to the type.
    const permission = `${resourceType}.${each}` as Demand['permission'];
    if (!(await isAllowed(holder, { permission, object: `${resourceType}:${resourceID}` }))) return false;
  }
  return true;
}

export async function isAllowed(holder: Pick<Holder, 'require'>, access: Demand): Promise<boolean> {
  try {
    await holder.require([access]);
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
