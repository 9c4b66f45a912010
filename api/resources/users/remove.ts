import { z } from 'zod';
import { lockRules } from '#shared/access/policy/change.ts';
import { onEntities } from '#shared/db/query.ts';
import { Invitation } from '#shared/entities/tables/invitation.ts';
import { recordChanges } from '../../audit/changes.ts';
import { ACCESS_CHANNEL, type AccessSignal } from '../../auth/access-signals.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { removeMember } from '../../people/members.ts';
import { findTenantUser, membershipOf } from './find.ts';
import { requireOtherAdmin } from './last-admin.ts';
import { TenantUserID } from './schemas.ts';

export const removeUser = tenantRoute({
  name: 'removeTenantUser',
  method: 'delete',
  path: '/users/:tenantUserID',
  summary: 'Remove a user',
  description:
    'Ends a membership, which may be the one of the caller, or withdraws an invitation. The last administrator cannot be removed.',
  permission: 'user.delete',
  object: ({ params }) => `user:${params.tenantUserID}`,
  params: TenantUserID,
  response: z.object({ message: Message }),
  errors: ['409'],

  async handle({ params, em, tenantID }, { messaging: { backplane } }) {
    const id = params.tenantUserID;
    const { isPending } = await em.transactional(async (tx) => {
      const query = onEntities(tx);
      await lockRules(query, tenantID);
      const user = await findTenantUser(tx, id);
      const before = await membershipOf(tx, id);
      const changes = Object.fromEntries(Object.entries(before).map(([name, from]) => [name, { from }]));
      await recordChanges(query, tenantID, [{ assetType: 'tenantUser', assetID: id, action: 'delete', changes }]);
      if (user.isPending) await tx.nativeDelete(Invitation, { id });
      else {
        await requireOtherAdmin(query, tenantID, user);
        await removeMember(query, { tenantID, userID: id });
      }
      return user;
    });
    if (isPending) return { message: 'Invitation withdrawn' };
    await backplane.messages.publish(ACCESS_CHANNEL, { tenantID, userID: id } satisfies AccessSignal);
    return { message: 'User removed' };
  },
});
