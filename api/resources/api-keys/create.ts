import { z } from 'zod';
import { createAsset } from '#shared/assets.ts';
import type { Caller } from '#shared/caller.ts';
import { ApiKey as ApiKeyEntity } from '#shared/db/entities/api-key.ts';
import type { EntityManager } from '#shared/db/orm.ts';
import { inEntityTransaction, onEntities } from '#shared/db/query.ts';
import { AppError } from '#shared/errors.ts';
import { changeRules } from '#shared/policy/change.ts';
import type { Permission } from '#shared/policy/permissions.ts';
import { readRoleIDs, setRoles } from '#shared/policy/roles.ts';
import { createKey } from '../../auth/api-key.ts';
import { tenantRoute } from '../../http/route.ts';
import { requireRights, rulesOf } from './permissions.ts';
import { presentApiKey } from './present.ts';
import { ApiKeyCreate, ApiKeyID, NewApiKey } from './schemas.ts';

const DAY_MS = 86_400_000;

export const createApiKey = tenantRoute({
  method: 'post',
  path: '/apikeys',
  summary: 'Create an API key; the key itself is in this answer and nowhere else',
  status: 201,
  permission: 'apikey.create',
  body: ApiKeyCreate,
  response: z.object({ apiKey: NewApiKey }),

  async handle({ body, caller, em, tenantID, require, holds }, { config }) {
    const { apiKeyName, apiKeyDescription, apiKeyPermissions: permissions = [], roleIDs = [], apiKeyExpiry } = body;
    await requireRights(em, tenantID, { require, holds }, { permissions, roleIDs });
    const byDefault = new Date(Date.now() + config.apiKeys.defaultDays * DAY_MS);
    const expiresAt = apiKeyExpiry === undefined ? byDefault : apiKeyExpiry;
    return save(em, caller, roleIDs, { apiKeyName, apiKeyDescription, permissions, expiresAt });
  },
});

export const cloneApiKey = tenantRoute({
  method: 'post',
  path: '/apikeys/:apiKeyID/clone',
  summary: 'A new key that may do the same; it is disabled until somebody enables it',
  status: 201,
  access: ({ params }) => [
    { permission: 'apikey.read', object: `apikey:${params.apiKeyID}` },
    { permission: 'apikey.create', object: 'apikey:*' },
  ],
  params: ApiKeyID,
  response: z.object({ apiKey: NewApiKey }),

  async handle({ params, caller, em, tenantID, require, holds }) {
    const original = await em.findOne(ApiKeyEntity, { id: params.apiKeyID });
    if (!original) throw new AppError('NOT_FOUND', 'API key not found');
    const { apiKeyDescription, permissions, expiresAt } = original;
    const roleIDs = (await readRoleIDs(onEntities(em), tenantID, [original.id])).get(original.id) ?? [];
    await requireRights(em, tenantID, { require, holds }, { permissions, roleIDs });
    const apiKeyName = `${original.apiKeyName.slice(0, 255 - ' (Copy)'.length)} (Copy)`;
    return save(em, caller, roleIDs, { apiKeyName, apiKeyDescription, permissions, expiresAt, isDisabled: true });
  },
});

interface Settings {
  apiKeyName: string;
  apiKeyDescription?: string | null | undefined;
  permissions: Permission[];
  expiresAt?: Date | null | undefined;
  isDisabled?: boolean;
}

/** The key, its rules and its roles, together or not at all. */
async function save(
  em: EntityManager,
  caller: Caller,
  roleIDs: readonly string[],
  settings: Settings,
): Promise<{ apiKey: z.input<typeof NewApiKey> }> {
  const { key, prefix, hash } = createKey();
  return inEntityTransaction(em, async () => {
    const apiKey = await createAsset(em, caller, 'apikey', ApiKeyEntity, { ...settings, prefix, hash });
    await changeRules(em, apiKey.tenantID, { add: rulesOf(apiKey.id, settings.permissions) });
    if (roleIDs.length > 0) await setRoles(em, apiKey.tenantID, apiKey.id, roleIDs);
    return { apiKey: { ...presentApiKey(apiKey, roleIDs), key } };
  });
}
