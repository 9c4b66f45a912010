import { AppError } from '#shared/errors.ts';
import type { Asker, Policy } from '#shared/policy/enforcer.ts';
import { type Permission, splitPermission } from '#shared/policy/permissions.ts';
import type { Access, Demand } from './route.ts';

/** What one caller may do in one tenant. */
export interface Gate {
  /** Throws unless every one is allowed. */
  require(access: readonly Demand[]): Promise<void>;
  /** Throws unless every permission is there for something of its type at least: the rest is left to the filter of the list. */
  requireSome(access: readonly Access[]): Promise<void>;
  visible(permission: Permission): Promise<'all' | string[]>;
}

export function createGate(policy: Policy, asker: Asker): Gate {
  function visible(permission: Permission): Promise<'all' | string[]> {
    const [type, action] = splitPermission(permission);
    return policy.visible({ ...asker, type, action });
  }
  return {
    visible,
    async require(access) {
      for (const { permission, object } of access) {
        const [, action] = splitPermission(permission);
        if (!(await policy.can({ ...asker, object, action }))) throw denied();
      }
    },
    async requireSome(access) {
      for (const { permission } of access) if ((await visible(permission)).length === 0) throw denied();
    },
  };
}

/** The same words for a stranger, for a tenant that does not exist, and for a member who may not. */
export function denied(): AppError {
  return new AppError('PERMISSION_DENIED', 'You are not allowed to do this');
}
