import { type Permission, type ResourcePermission, splitPermission } from '#shared/access/policy/permissions.ts';
import {
  filtersOf,
  isWhole,
  type PermissionScope,
  type Policy,
  type PolicyCaller,
  scopeOf,
} from '#shared/access/policy/policy.ts';
import { AppError } from '#shared/core/errors.ts';
import { type Condition, visibleRows } from '../../tenant/visible-rows.ts';
import type { Access, Demand } from '../route/input.ts';

/** Permission checks of one caller in one tenant. */
export interface Authorizer {
  /** Throws unless every access is allowed. */
  require(access: readonly Demand[]): Promise<void>;
  /** Throws if a rule denies an access to an object that the caller creates, and whose own rule is not committed yet. */
  requireUndenied(access: readonly Demand[]): Promise<void>;
  /**
   * Throws unless the caller holds every permission, or the alternative, on at least one object; the handler narrows the
   * rows further.
   */
  requireSome(access: readonly Access[], alternative?: Permission): Promise<void>;
  /** A condition that narrows rows to those that the caller may see; `column` has the id of the object. */
  visible(permission: Permission, column?: string): Promise<Condition>;
  /** Whether the caller holds the permission on every object of its type, without a deny. */
  holds(permission: Permission | ResourcePermission): Promise<boolean>;
  /** On how many objects of its type the caller holds the permission. */
  scopeOf(permission: Permission): Promise<PermissionScope>;
}

export function createAuthorizer(policy: Policy, policyCaller: PolicyCaller): Authorizer {
  const visibilityFilters = (permission: Permission | ResourcePermission) =>
    filtersOf(policy, policyCaller, permission);
  const scope = (permission: Permission) => scopeOf(policy, policyCaller, permission);
  return {
    async visible(permission, column) {
      return visibleRows(await visibilityFilters(permission), column);
    },
    async holds(permission) {
      return (await visibilityFilters(permission)).every(isWhole);
    },
    scopeOf: scope,
    async require(access) {
      for (const { permission, object } of access) {
        const [, action] = splitPermission(permission);
        if (!(await policy.can({ ...policyCaller, object, action }))) throw denied();
      }
    },
    async requireUndenied(access) {
      for (const { permission, object } of access) {
        const id = object.slice(object.indexOf(':') + 1);
        const found = await visibilityFilters(permission);
        if (found.some(({ deny }) => deny.everything || deny.prefixes.some((prefix) => id.startsWith(prefix))))
          throw denied();
      }
    },
    async requireSome(access, alternative) {
      if (alternative && (await scope(alternative)) !== 'none') return;
      for (const { permission } of access) if ((await scope(permission)) === 'none') throw denied();
    },
  };
}

/** The same message for a caller who is not a member, for an unknown tenant, and for a member without the permission. */
export function denied(reason: 'permission' | 'membership' = 'permission'): AppError {
  return new AppError('PERMISSION_DENIED', 'You are not allowed to do this', { reason });
}
