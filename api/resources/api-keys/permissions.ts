import type { RuleSpec } from '#shared/access/policy/change.ts';
import { type RolePermission, ruleOf } from '#shared/access/policy/permissions.ts';
import { requireRoles } from '#shared/access/policy/roles.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { type Granter, requireGrantable } from '../../http/access/grant.ts';

/** Rules that give the key its permissions. */
export function rulesOf(keyID: string, permissions: readonly RolePermission[]): RuleSpec[] {
  return permissions.map((permission) => ({ subject: keyID, ...ruleOf(permission) }));
}

interface Rights {
  permissions: readonly RolePermission[];
  roleIDs: readonly string[];
}

/** Rejects permissions that the caller does not hold, given directly or by a role. */
export async function requireRights(
  em: EntityManager,
  tenantID: string,
  owner: Granter,
  { permissions, roleIDs }: Rights,
): Promise<void> {
  await requireGrantable(owner, { permissions });
  for (const role of await requireRoles(em, tenantID, roleIDs)) await requireGrantable(owner, role);
}
