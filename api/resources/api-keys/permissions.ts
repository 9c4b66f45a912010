import type { RuleSpec } from '#shared/policy/change.ts';
import { type Permission, splitPermission } from '#shared/policy/permissions.ts';
import type { Access } from '../../http/route.ts';

/** What a caller must hold to give a key these permissions. */
export function onEverything(permissions: readonly Permission[]): Access[] {
  return permissions.map((permission) => ({ permission, object: `${splitPermission(permission)[0]}:*` }));
}

/** What the key may do then. */
export function rulesOf(keyID: string, permissions: readonly Permission[]): RuleSpec[] {
  return permissions.map((permission) => {
    const [resource, action] = splitPermission(permission);
    return { subject: keyID, object: `${resource}:*`, action };
  });
}
