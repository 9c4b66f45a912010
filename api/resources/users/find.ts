import type { z } from 'zod';
import { readRoleIDs } from '#shared/access/policy/roles.ts';
import { AppError } from '#shared/core/errors.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Role } from '#shared/entities/tables/role.ts';
import { TenantUser as TenantUserEntity } from '#shared/entities/tables/tenant-user.ts';
import { presentTenantUser } from './present.ts';
import type { TenantUser } from './schemas.ts';

/** Reads a member or an invitation anew, past the entity manager's cache. */
export async function findTenantUser(em: EntityManager, id: string): Promise<TenantUserEntity> {
  const user = await em.findOne(TenantUserEntity, { id }, { disableIdentityMap: true });
  if (!user) throw new AppError('NOT_FOUND', 'User not found');
  return user;
}

export async function describeUser(em: EntityManager, id: string): Promise<z.input<typeof TenantUser>> {
  const user = await findTenantUser(em, id);
  const rolesOf = await findAssignedRoles(em, [user]);
  return presentTenantUser(user, rolesOf(user));
}

/** Adds the roles of each user, in one query for all. */
export async function describeUsers(
  em: EntityManager,
  users: readonly TenantUserEntity[],
): Promise<z.input<typeof TenantUser>[]> {
  const rolesOf = await findAssignedRoles(em, users);
  return users.map((user) => presentTenantUser(user, rolesOf(user)));
}

async function findAssignedRoles(em: EntityManager, users: readonly TenantUserEntity[]) {
  const assigned = await findRoleIDs(em, users);
  const ids = new Set([...assigned.values()].flat());
  const roles = await em.find(Role, { id: { $in: [...ids] } }, { fields: ['roleName'], orderBy: { roleName: 'asc' } });
  return ({ id: userID }: TenantUserEntity) => roles.filter(({ id }) => assigned.get(userID)?.includes(id));
}

/** Ids of the roles of each member, or of each invitation. */
export async function findRoleIDs(
  em: EntityManager,
  users: readonly TenantUserEntity[],
): Promise<Map<string, string[]>> {
  const assigned = new Map(users.map(({ id, roleIDs }) => [id, [...roleIDs]]));
  const members = users.filter(({ isPending }) => !isPending);
  const [tenantID] = members.map((member) => member.tenantID);
  if (tenantID === undefined) return assigned;
  const ids = members.map(({ id }) => id);
  for (const [id, roleIDs] of await readRoleIDs(onEntities(em), tenantID, ids)) assigned.set(id, roleIDs);
  return assigned;
}

/** The membership of a user, as the audit trail shows it. */
export async function membershipOf(em: EntityManager, id: string) {
  const user = await findTenantUser(em, id);
  const { email: userEmail, role: userTenantRelationship, folderID, isPending } = user;
  const roleIDs = (await findRoleIDs(em, [user])).get(id)?.sort() ?? [];
  return { userEmail, userTenantRelationship, folderID: folderID ?? null, roleIDs, isPending };
}
