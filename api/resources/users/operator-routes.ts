import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { AppError, toAppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Membership } from '#shared/entities/tables/membership.ts';
import { User } from '#shared/entities/tables/user.ts';
import { ACCESS_CHANNEL, type AccessSignal } from '../../auth/access-signals.ts';
import { originOf } from '../../auth/operator-session.ts';
import { operatorRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { presentPerson } from './present.ts';
import { People, Person, UserBlock, UserID, UserList } from './schemas.ts';

export const operatorUserRoutes = [
  operatorRoute({
    name: 'listAllUsers',
    method: 'get',
    path: '/users',
    summary: 'List the users of all tenants',
    description: 'Returns everyone who has ever signed in, newest first.',
    query: UserList,
    response: People,

    async handle({ em, query }) {
      const text = query.search && containing(query.search);
      const where: FilterQuery<User> = text ? { $or: [{ email: text }, { firstName: text }, { lastName: text }] } : {};
      const { rows, fields } = await findPage(em, User, { where, query });
      return { users: rows.map(presentPerson), ...fields };
    },
  }),

  operatorRoute({
    name: 'updateUser',
    method: 'patch',
    path: '/users/:userID',
    summary: 'Block or unblock a user',
    description: 'A blocked user is rejected everywhere: tokens, connected sockets and API keys they created.',
    params: UserID,
    body: UserBlock,
    response: z.object({ user: Person, message: Message }),
    errors: ['404'],
    isRecordedByHandler: true,

    async handle(
      { em, operator, request, auditFor, params: { userID }, body: { isDisabled } },
      { messaging: { backplane }, access: { operators } },
    ) {
      const memberships = await em.find(Membership, { userID }, { filters: { tenant: false }, fields: ['tenantID'] });
      await auditFor(memberships.map(({ tenantID }) => tenantID));
      const action = isDisabled ? 'USER_BLOCKED' : 'USER_UNBLOCKED';
      const noteOutcome = await operators.record(operator, action, originOf(request));
      const user = await setDisabled(em, userID, isDisabled).catch((error: unknown) => {
        noteOutcome(toAppError(error).status);
        throw error;
      });
      noteOutcome(200);
      await backplane.messages.publish(ACCESS_CHANNEL, { userID } satisfies AccessSignal);
      return { user: presentPerson(user), message: isDisabled ? 'User blocked' : 'User unblocked' };
    },
  }),
];

async function setDisabled(em: EntityManager, id: string, isDisabled: boolean): Promise<User> {
  const user = await em.findOne(User, { id });
  if (!user) throw new AppError('NOT_FOUND', 'User not found');
  user.isDisabled = isDisabled;
  await em.flush();
  return user;
}
