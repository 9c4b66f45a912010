import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Role } from '#shared/entities/tables/role.ts';

/** A role that the tenant may use: its own, or one of the whole deployment. */
export async function findRole(em: EntityManager, id: string): Promise<Role> {
  const role = await em.findOne(Role, { id });
  if (!role) throw new AppError('NOT_FOUND', 'Role not found');
  return role;
}

/** A role that the tenant may change. */
export async function findOwnRole(em: EntityManager, id: string): Promise<Role> {
  const role = await findRole(em, id);
  if (role.tenantID) return role;
  throw new AppError('PERMISSION_DENIED', 'This role is there for every tenant: only operators change it');
}
