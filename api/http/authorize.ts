import { AppError } from '#shared/errors.ts';
import { type Asker, type Policy, seesSomething } from '#shared/policy/enforcer.ts';
import { type Permission, type ResourcePermission, splitPermission } from '#shared/policy/permissions.ts';
import type { Sight } from '#shared/policy/rule-index.ts';
import { type Condition, visibleRows } from '../db/visible.ts';
import type { Access, Demand } from './route.ts';

/** What one caller may do in one tenant. */
export interface Gate {
  /** Throws unless every one is allowed. */
  require(access: readonly Demand[]): Promise<void>;
  /** Throws unless every permission is there for something of its type at least: the rest is left to the filter of the list. */
  requireSome(access: readonly Access[]): Promise<void>;
  /** A condition that narrows rows to what may be seen; `column` has the id of the object. */
  visible(permission: Permission, column?: string): Promise<Condition>;
  /** Whether the permission is there for everything of its type, without an exception. */
  holds(permission: Permission | ResourcePermission): Promise<boolean>;
}

export function createGate(policy: Policy, asker: Asker): Gate {
  function sights(permission: Permission | ResourcePermission) {
    const [type, action] = splitPermission(permission);
    return policy.sights({ ...asker, type, action });
  }
  return {
    async visible(permission, column) {
      return visibleRows(await sights(permission), column);
    },
    async holds(permission) {
      return (await sights(permission)).every(isWhole);
    },
    async require(access) {
      for (const { permission, object } of access) {
        const [, action] = splitPermission(permission);
        if (!(await policy.can({ ...asker, object, action }))) throw denied();
      }
    },
    async requireSome(access) {
      for (const { permission } of access) if (!seesSomething(await sights(permission))) throw denied();
    },
  };
}

function isWhole({ allow, deny }: Sight): boolean {
  return allow.everything && !deny.everything && deny.ids?.length === 0 && deny.prefixes.length === 0;
}

/** The same words for a stranger, for a tenant that does not exist, and for a member who may not. */
export function denied(): AppError {
  return new AppError('PERMISSION_DENIED', 'You are not allowed to do this');
}
