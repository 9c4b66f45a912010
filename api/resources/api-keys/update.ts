import { LockMode } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { changeRules } from '#shared/access/policy/change.ts';
import { isCovered } from '#shared/access/policy/permissions.ts';
import { readRoleIDs, setRoles } from '#shared/access/policy/roles.ts';
import { AppError } from '#shared/core/errors.ts';
import { onEntities } from '#shared/db/query.ts';
import { ApiKey as ApiKeyEntity } from '#shared/entities/tables/api-key.ts';
import { type ApiRoute, tenantRoute } from '../../context/routes.ts';
import { requireRights, rulesOf } from './permissions.ts';
import { presentApiKey } from './present.ts';
import { ApiKey, ApiKeyID, ApiKeyUpdate } from './schemas.ts';

/** The contract names both methods, PATCH and PUT. */
export const updateApiKey = updateBy({
  name: 'updateApiKey',
  method: 'patch',
  summary: 'Update an API key',
  description: 'Fields that are left out stay as they are. The caller must hold every permission that is added.',
});
export const putApiKey = updateBy({
  name: 'putApiKey',
  method: 'put',
  summary: 'Update an API key by PUT',
  description: 'Does the same as PATCH: fields that are left out stay as they are.',
});

interface Words {
  name: string;
  method: 'patch' | 'put';
  summary: string;
  description: string;
}

function updateBy(words: Words): ApiRoute {
  return tenantRoute({
    ...words,
    path: '/apikeys/:apiKeyID',
    permission: 'apikey.update',
    object: ({ params }) => `apikey:${params.apiKeyID}`,
    params: ApiKeyID,
    body: ApiKeyUpdate,
    response: z.object({ apiKey: ApiKey }),

    async handle({ params, body, em, tenantID, require, holds }) {
      return em.transactional(async (tx) => {
        const lockMode = LockMode.PESSIMISTIC_WRITE;
        const key = await tx.findOne(ApiKeyEntity, { id: params.apiKeyID }, { lockMode });
        if (!key) throw new AppError('NOT_FOUND', 'API key not found');

        const before = key.permissions;
        const after = body.apiKeyPermissions ?? before;
        const added = after.filter((permission) => !before.includes(permission));
        const isRevived = (key.isDisabled && body.isDisabled === false) || lastsLonger(key, body.apiKeyExpiry);
        // A caller can grant only permissions it holds: new ones, and all of them when an expired or disabled key is revived.
        const assigned = (await readRoleIDs(onEntities(tx), tenantID, [key.id])).get(key.id) ?? [];
        const roleIDs = body.roleIDs ?? assigned;
        const addedRoles = roleIDs.filter((id) => !assigned.includes(id));
        const addedRights = { permissions: added.filter((one) => !isCovered(one, before)), roleIDs: addedRoles };
        const toGrant = isRevived ? { permissions: after, roleIDs } : addedRights;
        await requireRights(tx, tenantID, { require, holds }, toGrant);

        const { apiKeyName, apiKeyDescription, apiKeyExpiry: expiresAt, isDisabled, folderID } = body;
        const changes = { apiKeyName, apiKeyDescription, expiresAt, isDisabled, folderID, permissions: after };
        tx.assign(key, changes, { ignoreUndefined: true });
        const removed = before.filter((permission) => !after.includes(permission));
        await changeRules(tx, tenantID, { remove: rulesOf(key.id, removed), add: rulesOf(key.id, added) });
        if (body.roleIDs) await setRoles(tx, tenantID, key.id, roleIDs);
        await tx.flush();
        return { apiKey: presentApiKey(key, roleIDs) };
      });
    },
  });
}

/**
 * Whether a change makes the key valid for longer. A null `expiry` means no expiry, undefined leaves the expiry as it
 * is.
 */
function lastsLonger({ expiresAt }: ApiKeyEntity, expiry: Date | null | undefined): boolean {
  if (!expiresAt || expiry === undefined) return false;
  return expiry === null || expiry > expiresAt;
}
