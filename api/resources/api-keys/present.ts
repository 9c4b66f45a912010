import type { z } from 'zod';
import type { ApiKey as ApiKeyEntity } from '#shared/entities/tables/api-key.ts';
import type { ApiKey } from './schemas.ts';

export function presentApiKey(key: ApiKeyEntity, roleIDs: readonly string[]): z.input<typeof ApiKey> {
  const { id, tenantID, apiKeyName, isDisabled, creatorID } = key;
  return {
    id,
    tenantID,
    apiKeyName,
    apiKeyDescription: key.apiKeyDescription ?? null,
    apiKeyPermissions: key.permissions,
    roleIDs: [...roleIDs],
    apiKeyExpiry: key.expiresAt?.toISOString() ?? null,
    apiKeyPrefix: key.prefix,
    folderID: key.folderID ?? null,
    isDisabled,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    creatorID,
    createdByApiKeyID: key.createdByApiKeyID ?? null,
    createdAt: key.createdAt.toISOString(),
    updatedAt: key.updatedAt.toISOString(),
  };
}
