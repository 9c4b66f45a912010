import { z } from 'zod';
import { lockRules } from '#shared/access/policy/change.ts';
import { requireRoles } from '#shared/access/policy/roles.ts';
import { AppError } from '#shared/core/errors.ts';
import { inEntityTransaction, onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Invitation } from '#shared/entities/tables/invitation.ts';
import { recordChanges } from '../../audit/changes.ts';
import { tenantRoute } from '../../context/routes.ts';
import { requireGrantable } from '../../http/access/grant.ts';
import { Message } from '../../http/fields/response-parts.ts';
import type { TenantInput } from '../../http/route/input.ts';
import { addMember } from '../../people/members.ts';
import { findByAddress, lockAddress } from '../../people/people.ts';
import { describeUser, membershipOf } from './find.ts';
import { TenantUser, UserAdd } from './schemas.ts';

export const addUser = tenantRoute({
  name: 'addTenantUser',
  method: 'post',
  path: '/users',
  summary: 'Add a user',
  description:
    'Adds a person by their email address. A person who has not signed in yet is invited, and becomes a member when they do.',
  status: 201,
  permission: 'user.create',
  body: UserAdd,
  idempotent: 'transaction',
  response: z.object({ user: TenantUser, message: Message }),

  async handle({ body, caller, em, tenantID, require, holds, response }, { access: { signIn }, logger }) {
    const { userEmail, roleIDs, folderID = null } = body;
    for (const role of await requireRoles(em, tenantID, roleIDs)) await requireGrantable({ require, holds }, role);
    const userID = await inEntityTransaction(em, async () => {
      const query = onEntities(em);
      await lockAddress(query, userEmail);
      await lockRules(query, tenantID);
      const known = await findByAddress(query, userEmail);
      if (!known) return invite(em, { tenantID, caller, userEmail, roleIDs, folderID });
      if (!(await addMember(query, { tenantID, userID: known, roleIDs, folderID })))
        throw new AppError('CONFLICT', 'This person is a member of the tenant already');
      const after = await membershipOf(em, known);
      const changes = Object.fromEntries(Object.entries(after).map(([name, to]) => [name, { to }]));
      await recordChanges(query, tenantID, [{ assetType: 'tenantUser', assetID: known, action: 'create', changes }]);
      return known;
    });
    const user = await describeUser(em, userID);
    // Once the invitation is committed. Not waited for: without the mail, the person may still ask for a link where users sign in.
    if (user.isPending && signIn)
      response.once('finish', () => {
        if (response.statusCode !== 201) return;
        signIn
          .invite(userEmail, tenantID)
          .catch((error: unknown) => logger.error({ err: error, tenantID }, 'an invitation was not sent'));
      });
    return { user, message: user.isPending ? 'User invited' : 'User added' };
  },
});

interface Invited extends Pick<TenantInput<z.ZodType, z.ZodType, z.ZodType>, 'tenantID' | 'caller'> {
  userEmail: string;
  roleIDs: string[];
  folderID: string | null;
}

async function invite(
  em: EntityManager,
  { tenantID, caller, userEmail: email, roleIDs, folderID }: Invited,
): Promise<string> {
  if (await em.count(Invitation, { email })) throw new AppError('CONFLICT', 'This person is invited already');
  const creatorID = caller.userID ?? caller.id;
  const createdByApiKeyID = caller.type === 'apiKey' ? caller.id : null;
  const invitation = em.create(Invitation, { tenantID, email, roleIDs, folderID, creatorID, createdByApiKeyID });
  await em.flush();
  return invitation.id;
}
