import { z } from 'zod';
import { Permission } from '#shared/policy/permissions.ts';
import { ID } from '../../http/id.ts';
import { pageFields, pageQuery, standardPage } from '../../http/paging.ts';

export const ApiKeyID = z.object({ apiKeyID: ID });

const Expiry = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .refine((at) => at.getTime() > Date.now(), 'must be in the future');

const settings = {
  apiKeyName: z.string().min(1).max(255),
  apiKeyDescription: z.string().max(10_000).nullish(),
  apiKeyPermissions: z
    .array(Permission)
    .max(500)
    .transform((permissions) => [...new Set(permissions)])
    .optional(),
  roleIDs: z.array(ID).max(100).optional(),
  /** Null: never. */
  apiKeyExpiry: Expiry.nullish(),
};

export const ApiKeyCreate = z.object(settings);

/** What is left out stays. */
export const ApiKeyUpdate = z.object({
  ...settings,
  apiKeyName: settings.apiKeyName.optional(),
  isDisabled: z.boolean().optional(),
});

export const ApiKeyList = z.object({ ...pageQuery(standardPage), search: z.string().max(255).optional() });

export const ApiKey = z.object({
  id: z.uuid(),
  tenantID: z.uuid(),
  apiKeyName: z.string(),
  apiKeyDescription: z.string().nullable(),
  apiKeyPermissions: z.array(z.string()),
  roleIDs: z.array(z.uuid()),
  apiKeyExpiry: z.iso.datetime().nullable(),
  apiKeyPrefix: z.string(),
  isDisabled: z.boolean(),
  lastUsedAt: z.iso.datetime().nullable(),
  creatorID: z.uuid(),
  createdByApiKeyID: z.uuid().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

/** The one answer with the key itself. */
export const NewApiKey = ApiKey.extend({ key: z.string() });

export const ApiKeys = z.object({ apiKeys: z.array(ApiKey), ...pageFields });
