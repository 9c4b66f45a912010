import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import { tellRevokers } from '#shared/messaging/oauth-revocations.ts';
import { deleteAsset } from '../../assets/assets.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { getConnection } from './find.ts';
import { OAuthConnectionID } from './schemas.ts';

export const deleteConnection = tenantRoute({
  name: 'deleteOauthConnection',
  method: 'delete',
  path: '/oauth-connections/:oauthConnectionID',
  summary: 'Delete an OAuth connection',
  description:
    'Deletes a connected account and its tokens, which a worker revokes at the provider, unless that offers no revocation or another connection has the same account. While a datasource uses it, the answer is 409.',
  permission: 'datasource.delete',
  object: ({ params }) => `datasource:${params.oauthConnectionID}`,
  params: OAuthConnectionID,
  response: z.object({ message: Message }),
  errors: ['409'],

  async handle({ params, em, log }, { messaging: { backplane } }) {
    await em.transactional(async (tx) => {
      // Locked, so that no datasource begins to use the connection meanwhile.
      const connection = await getConnection(tx, params.oauthConnectionID, { lock: true });
      const used = await tx.count(Datasource, {
        datasourceOptions: { authType: 'oauthConnection', oauthConnectionID: connection.id },
      });
      if (used > 0)
        throw new AppError('CONFLICT', `${used} ${used === 1 ? 'datasource uses' : 'datasources use'} this connection`);
      await deleteAsset(tx, 'datasource', connection);
    });
    tellRevokers(backplane.messages, log);
    return { message: 'OAuth connection deleted' };
  },
});
