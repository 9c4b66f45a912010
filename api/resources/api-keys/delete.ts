import { z } from 'zod';
import { changeRules } from '#shared/access/policy/change.ts';
import { AppError } from '#shared/core/errors.ts';
import { inEntityTransaction } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { ApiKey } from '#shared/entities/tables/api-key.ts';
import { deleteAsset } from '../../assets/assets.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { ApiKeyDelete, ApiKeyID } from './schemas.ts';

export const deleteApiKey = tenantRoute({
  name: 'deleteApiKey',
  method: 'delete',
  path: '/apikeys/:apiKeyID',
  summary: 'Disable or delete an API key',
  description:
    'The key is rejected from the next request on. It stays as a disabled key, which can be enabled again and counts for the quota of keys; with `permanently` it is deleted.',
  permission: 'apikey.delete',
  object: ({ params }) => `apikey:${params.apiKeyID}`,
  params: ApiKeyID,
  query: ApiKeyDelete,
  response: z.object({ message: Message }),

  async handle({ params: { apiKeyID }, query, em, tenantID }) {
    if (query.permanently) {
      await deleteForGood(em, tenantID, apiKeyID);
      return { message: 'API key deleted' };
    }
    const key = await em.findOne(ApiKey, { id: apiKeyID });
    if (!key) throw notFound();
    key.isDisabled = true;
    await em.flush();
    return { message: 'API key disabled' };
  },
});

/** Deletes a key with what it may do. Runs that it has started go on without permissions. */
async function deleteForGood(em: EntityManager, tenantID: string, id: string): Promise<void> {
  await inEntityTransaction(em, async () => {
    const key = await em.findOne(ApiKey, { id });
    if (!key) throw notFound();
    await deleteAsset(em, 'apikey', key);
    await changeRules(em, tenantID, { remove: [{ subject: id }] });
  });
}

function notFound(): AppError {
  return new AppError('NOT_FOUND', 'API key not found');
}
