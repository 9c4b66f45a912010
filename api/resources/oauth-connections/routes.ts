import { z } from 'zod';
import { OAuthConnection as OAuthConnectionEntity } from '#shared/entities/tables/oauth-connection.ts';
import { tenantRoute } from '../../context/routes.ts';
import { findPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { deleteConnection } from './delete.ts';
import { getConnection } from './find.ts';
import { presentConnection } from './present.ts';
import { OAuthConnection, OAuthConnectionID, OAuthConnectionList, OAuthConnections } from './schemas.ts';

/** The policy treats a connection as a datasource: the same permissions, on the connection's own id. */
export const oauthConnectionRoutes = [
  tenantRoute({
    name: 'listOauthConnections',
    method: 'get',
    path: '/oauth-connections',
    summary: 'List OAuth connections',
    description:
      'Returns the connected accounts the caller may see, newest first, without their tokens, and the providers there are.',
    permission: 'datasource.list',
    filter: true,
    query: OAuthConnectionList,
    response: OAuthConnections,

    async handle({ query, em, visible }, { config }) {
      const { provider } = query;
      const where = { ...(await visible('datasource.read')), ...(provider && { provider }) };
      const { rows, fields } = await findPage(em, OAuthConnectionEntity, { where, query });
      const providers = config.oauth.providers.map(({ name }) => name);
      return { oauthConnections: rows.map(presentConnection), providers, ...fields };
    },
  }),

  tenantRoute({
    name: 'getOauthConnection',
    method: 'get',
    path: '/oauth-connections/:oauthConnectionID',
    summary: 'Get an OAuth connection',
    description: 'Returns a connected account, without its tokens.',
    permission: 'datasource.read',
    object: ({ params }) => `datasource:${params.oauthConnectionID}`,
    params: OAuthConnectionID,
    response: z.object({ oauthConnection: OAuthConnection, message: Message }),

    async handle({ params, em }) {
      const connection = await getConnection(em, params.oauthConnectionID);
      return { oauthConnection: presentConnection(connection), message: 'OAuth connection found' };
    },
  }),

  deleteConnection,
];
