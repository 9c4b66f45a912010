import type { EntityManager } from '#shared/db/orm.ts';
import type { RuleSpec } from '#shared/policy/change.ts';
import { type Permission, splitPermission } from '#shared/policy/permissions.ts';
import { requireRoles } from '#shared/policy/roles.ts';
import type { Gate } from '../../http/authorize.ts';
import { requireHeld } from '../../http/grant.ts';

/** What the key may do then. */
export function rulesOf(keyID: string, permissions: readonly Permission[]): RuleSpec[] {
  return permissions.map((permission) => {
    const [resource, action] = splitPermission(permission);
    return { subject: keyID, object: `${resource}:*`, action };
  });
}

interface Rights {
  permissions: readonly Permission[];
  roleIDs: readonly string[];
}

/** Nobody gives a key what they do not hold, by itself or by way of a role. */
export async function requireRights(
  em: EntityManager,
  tenantID: string,
  gate: Pick<Gate, 'require' | 'holds'>,
  { permissions, roleIDs }: Rights,
): Promise<void> {
  await requireHeld(gate, { permissions });
  for (const role of await requireRoles(em, tenantID, roleIDs)) await requireHeld(gate, role);
}
