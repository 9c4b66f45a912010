import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { readRoleIDs } from '#shared/access/policy/roles.ts';
import { AppError } from '#shared/core/errors.ts';
import { onEntities } from '#shared/db/query.ts';
import { ApiKey as ApiKeyEntity } from '#shared/entities/tables/api-key.ts';
import { tenantRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { cloneApiKey, createApiKey } from './create.ts';
import { deleteApiKey } from './delete.ts';
import { presentApiKey } from './present.ts';
import { ApiKey, ApiKeyID, ApiKeyList, ApiKeys } from './schemas.ts';
import { putApiKey, updateApiKey } from './update.ts';

export const apiKeyRoutes = [
  tenantRoute({
    name: 'listApiKeys',
    method: 'get',
    path: '/apikeys',
    summary: 'List API keys',
    description: 'Returns the API keys the caller may read, newest first, without the keys themselves.',
    permission: 'apikey.list',
    filter: true,
    query: ApiKeyList,
    response: ApiKeys,

    async handle({ query, em, tenantID, visible }) {
      const where: FilterQuery<ApiKeyEntity> = {
        ...(await visible('apikey.read')),
        ...(query.search && { apiKeyName: containing(query.search) }),
        ...(query.folderID && { folderID: query.folderID }),
      };
      const { rows, fields } = await findPage(em, ApiKeyEntity, { where, query });
      const roleIDs = await readRoleIDs(
        onEntities(em),
        tenantID,
        rows.map(({ id }) => id),
      );
      return { apiKeys: rows.map((key) => presentApiKey(key, roleIDs.get(key.id) ?? [])), ...fields };
    },
  }),

  createApiKey,

  tenantRoute({
    name: 'getApiKey',
    method: 'get',
    path: '/apikeys/:apiKeyID',
    summary: 'Get an API key',
    description: 'Returns an API key, without the key itself.',
    permission: 'apikey.read',
    object: ({ params }) => `apikey:${params.apiKeyID}`,
    params: ApiKeyID,
    response: z.object({ apiKey: ApiKey }),

    async handle({ params, em, tenantID }) {
      const key = await em.findOne(ApiKeyEntity, { id: params.apiKeyID });
      if (!key) throw new AppError('NOT_FOUND', 'API key not found');
      const roleIDs = await readRoleIDs(onEntities(em), tenantID, [key.id]);
      return { apiKey: presentApiKey(key, roleIDs.get(key.id) ?? []) };
    },
  }),

  updateApiKey,
  putApiKey,

  deleteApiKey,
  cloneApiKey,
];
