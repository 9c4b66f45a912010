import { z } from 'zod';
import { changeRules } from '#shared/access/policy/change.ts';
import type { RolePermission } from '#shared/access/policy/permissions.ts';
import { readRoleIDs, setRoles } from '#shared/access/policy/roles.ts';
import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import { inEntityTransaction, onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { ApiKey as ApiKeyEntity } from '#shared/entities/tables/api-key.ts';
import type { Config } from '#shared/process/config.ts';
import { createAsset } from '../../assets/assets.ts';
import { titleOfCopy } from '../../assets/copy-title.ts';
import { createKey } from '../../auth/api-key.ts';
import { tenantRoute } from '../../context/routes.ts';
import { requireRights, rulesOf } from './permissions.ts';
import { presentApiKey } from './present.ts';
import { ApiKeyCreate, ApiKeyID, NewApiKey } from './schemas.ts';

const DAY_MS = 86_400_000;

export const createApiKey = tenantRoute({
  name: 'createApiKey',
  method: 'post',
  path: '/apikeys',
  summary: 'Create an API key',
  description:
    'Returns the key itself, which no other answer does. The caller must hold every permission that the key gets.',
  status: 201,
  permission: 'apikey.create',
  body: ApiKeyCreate,
  response: z.object({ apiKey: NewApiKey }),
  isSecret: true,
  // Not idempotent: to repeat the answer, the key would have to be stored.
  idempotent: false,

  async handle({ body, caller, em, tenantID, require, holds }, { config }) {
    const {
      apiKeyName,
      apiKeyDescription,
      apiKeyPermissions: permissions = [],
      roleIDs = [],
      apiKeyExpiry,
      folderID,
    } = body;
    await requireRights(em, tenantID, { require, holds }, { permissions, roleIDs });
    const expiresAt = apiKeyExpiry === undefined ? defaultExpiry(config) : apiKeyExpiry;
    return save(em, caller, roleIDs, { apiKeyName, apiKeyDescription, permissions, expiresAt, folderID });
  },
});

export const cloneApiKey = tenantRoute({
  name: 'cloneApiKey',
  method: 'post',
  path: '/apikeys/:apiKeyID/clone',
  summary: 'Clone an API key',
  description:
    'Creates a new key with the same permissions and roles. It is disabled until it is updated with `isDisabled: false`.',
  status: 201,
  access: ({ params }) => [
    { permission: 'apikey.read', object: `apikey:${params.apiKeyID}` },
    { permission: 'apikey.create', object: 'apikey:*' },
  ],
  params: ApiKeyID,
  response: z.object({ apiKey: NewApiKey }),
  isSecret: true,
  idempotent: false,

  async handle({ params, caller, em, tenantID, require, holds }, { config }) {
    const original = await em.findOne(ApiKeyEntity, { id: params.apiKeyID });
    if (!original) throw new AppError('NOT_FOUND', 'API key not found');
    const { apiKeyDescription, permissions, folderID } = original;
    // An expired key is not copied: the copy would be unusable.
    const isExpired = original.expiresAt && original.expiresAt.getTime() <= Date.now();
    const expiresAt = isExpired ? defaultExpiry(config) : original.expiresAt;
    const roleIDs = (await readRoleIDs(onEntities(em), tenantID, [original.id])).get(original.id) ?? [];
    await requireRights(em, tenantID, { require, holds }, { permissions, roleIDs });
    const apiKeyName = titleOfCopy(original.apiKeyName);
    const settings = { apiKeyName, apiKeyDescription, permissions, expiresAt, folderID };
    return save(em, caller, roleIDs, { ...settings, isDisabled: true });
  },
});

function defaultExpiry({ apiKeys }: Pick<Config, 'apiKeys'>): Date {
  return new Date(Date.now() + apiKeys.defaultDays * DAY_MS);
}

interface Settings {
  apiKeyName: string;
  apiKeyDescription?: string | null | undefined;
  permissions: RolePermission[];
  folderID?: string | null | undefined;
  expiresAt?: Date | null | undefined;
  isDisabled?: boolean;
}

/** Writes the key, its rules and its roles in one transaction. */
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
