import { z } from 'zod';
import { RolePermission } from '#shared/policy/permissions.ts';
import { ID } from '../../http/id.ts';
import { pageFields, pageQuery, standardPage } from '../../http/paging.ts';
import { requireOne, Title } from '../../http/text.ts';

export const ApiKeyID = z.object({ apiKeyID: ID });

const Expiry = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .refine((at) => at.getTime() > Date.now(), 'must be in the future');

const settings = {
  /** Two names for one field. */
  apiKeyName: Title.optional(),
  apiKeyTitle: Title.optional(),
  apiKeyDescription: z.string().max(10_000).nullish(),
  apiKeyPermissions: z
    .array(RolePermission)
    .max(500)
    .transform((permissions) => [...new Set(permissions)])
    .optional(),
  roleIDs: z.array(ID).max(100).optional(),
  /** Null: never. */
  apiKeyExpiry: Expiry.nullish(),
  folderID: ID.nullish(),
};

export const ApiKeyCreate = z.object(settings).transform(({ apiKeyName, apiKeyTitle, ...rest }, check) => ({
  ...rest,
  apiKeyName: requireOne(check, 'apiKeyName', [apiKeyName, apiKeyTitle]),
}));

/** What is left out stays. */
export const ApiKeyUpdate = z
  .object({ ...settings, isDisabled: z.boolean().optional() })
  .transform(({ apiKeyTitle, ...body }) => ({ ...body, apiKeyName: body.apiKeyName ?? apiKeyTitle }));

export const ApiKeyList = z.object({
  ...pageQuery(standardPage),
  search: z.string().max(255).optional(),
  folderID: ID.optional(),
});

export const ApiKey = z.object({
  id: z.uuid(),
  tenantID: z.uuid(),
  apiKeyName: z.string(),
  apiKeyDescription: z.string().nullable(),
  apiKeyPermissions: z.array(z.string()),
  roleIDs: z.array(z.uuid()),
  apiKeyExpiry: z.iso.datetime().nullable(),
  apiKeyPrefix: z.string(),
  folderID: z.uuid().nullable(),
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
