import { z } from 'zod';
import { lockRules } from '#shared/access/policy/change.ts';
import { requireRoles, setRoles } from '#shared/access/policy/roles.ts';
import { AppError } from '#shared/core/errors.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Invitation } from '#shared/entities/tables/invitation.ts';
import { Membership } from '#shared/entities/tables/membership.ts';
import type { TenantUser as TenantUserEntity } from '#shared/entities/tables/tenant-user.ts';
import { recordUpdate } from '../../audit/changes.ts';
import { ACCESS_CHANNEL, type AccessSignal } from '../../auth/access-signals.ts';
import { tenantRoute } from '../../context/routes.ts';
import { type Granter, requireGrantable } from '../../http/access/grant.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { setRelationship } from '../../people/members.ts';
import { describeUser, findRoleIDs, findTenantUser, membershipOf } from './find.ts';
import { requireOtherAdmin } from './last-admin.ts';
import { TenantUser, TenantUserID, UserRoles } from './schemas.ts';

export const setUserRoles = tenantRoute({
  name: 'setTenantUserRoles',
  method: 'patch',
  path: '/users/:tenantUserID/roles',
  summary: "Replace a user's roles",
  description: 'The caller must hold every permission of the roles that are added.',
  permission: 'user.update',
  object: ({ params }) => `user:${params.tenantUserID}`,
  params: TenantUserID,
  body: UserRoles,
  response: z.object({ user: TenantUser, message: Message }),
  errors: ['409'],

  async handle({ params, body, em, tenantID, require, holds }, { messaging: { backplane } }) {
    const owner = { require, holds };
    const user = await em.transactional(async (tx) => {
      await lockRules(onEntities(tx), tenantID);
      const found = await findTenantUser(tx, params.tenantUserID);
      const before = await membershipOf(tx, found.id);
      await requireAddedRoles(tx, owner, { tenantID, user: found, roleIDs: body.roleIDs });
      if (found.isPending) await changeInvitation(tx, found, body);
      else await changeMember(tx, owner, { tenantID, user: found, body });
      const asset = { assetType: 'tenantUser', assetID: found.id };
      await recordUpdate(onEntities(tx), tenantID, { ...asset, before, after: await membershipOf(tx, found.id) });
      return describeUser(tx, found.id);
    });
    if (!user.isPending)
      await backplane.messages.publish(ACCESS_CHANNEL, { tenantID, userID: user.id } satisfies AccessSignal);
    return { user, message: 'Roles updated' };
  },
});

type Body = z.output<typeof UserRoles>;

async function requireAddedRoles(
  em: EntityManager,
  owner: Granter,
  { tenantID, user, roleIDs }: { tenantID: string; user: TenantUserEntity; roleIDs: string[] },
): Promise<void> {
  const before = new Set((await findRoleIDs(em, [user])).get(user.id));
  for (const role of await requireRoles(em, tenantID, roleIDs))
    if (!before.has(role.id)) await requireGrantable(owner, role);
}

async function changeMember(
  em: EntityManager,
  owner: Granter,
  { tenantID, user, body }: { tenantID: string; user: TenantUserEntity; body: Body },
): Promise<void> {
  const role = body.userTenantRelationship ?? user.role;
  if (role !== user.role) {
    const query = onEntities(em);
    if (role === 'ADMIN') await requireGrantable(owner, { permissions: ['*'] });
    else await requireOtherAdmin(query, tenantID, user);
    await setRelationship(query, { tenantID, userID: user.id, role });
  }
  await setRoles(em, tenantID, user.id, body.roleIDs);
  const { folderID } = body;
  await em.nativeUpdate(
    Membership,
    { userID: user.id },
    { updatedAt: new Date(), ...(folderID !== undefined && { folderID }) },
  );
}

async function changeInvitation(
  em: EntityManager,
  { id }: TenantUserEntity,
  { roleIDs, userTenantRelationship, folderID }: Body,
): Promise<void> {
  if (userTenantRelationship === 'ADMIN')
    throw new AppError('CONFLICT', 'A user who has not signed in yet cannot be an admin');
  await em.nativeUpdate(
    Invitation,
    { id },
    { roleIDs, updatedAt: new Date(), ...(folderID !== undefined && { folderID }) },
  );
}
