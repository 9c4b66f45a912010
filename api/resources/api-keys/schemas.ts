import { z } from 'zod';
import { RolePermission } from '#shared/access/policy/permissions.ts';
import { Moment } from '#shared/core/schema/moment.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { Flag } from '../../http/fields/flag.ts';
import { pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { requireOne, Title } from '../../http/fields/text.ts';
import { exampleApiKey, exampleApiKeyCreate, exampleApiKeyUpdate, exampleNewApiKey } from './examples.ts';

export const ApiKeyID = z.object({ apiKeyID: idOf('apiKey') });

const Expiry = Moment.refine((at) => at.getTime() > Date.now(), 'must be in the future');

const settings = {
  apiKeyName: Title.optional(),
  apiKeyTitle: Title.optional().describe('Another name for `apiKeyName`'),
  apiKeyDescription: z.string().max(10_000).nullish(),
  apiKeyPermissions: z
    .array(RolePermission)
    .max(500)
    .transform((permissions) => [...new Set(permissions)])
    .optional(),
  roleIDs: z.array(idOf('role')).max(100).optional(),
  apiKeyExpiry: Expiry.nullish().describe('Null: the key does not expire'),
  folderID: idOf('folder').nullish(),
};

export const ApiKeyCreate = z
  .object(settings)
  .transform(({ apiKeyName, apiKeyTitle, ...rest }, check) => ({
    ...rest,
    apiKeyName: requireOne(check, 'apiKeyName', [apiKeyName, apiKeyTitle]),
  }))
  .meta({ id: 'ApiKeyCreate', examples: [exampleApiKeyCreate] });

/** Absent fields stay as they are. */
export const ApiKeyUpdate = z
  .object({ ...settings, isDisabled: z.boolean().optional() })
  .transform(({ apiKeyTitle, ...body }) => ({ ...body, apiKeyName: body.apiKeyName ?? apiKeyTitle }))
  .meta({ id: 'ApiKeyUpdate', examples: [exampleApiKeyUpdate] });

export const ApiKeyDelete = z.object({
  permanently: Flag.describe('Deletes the key for good, instead of disabling it'),
});

export const ApiKeyList = z.object({
  ...pageQuery(standardPage),
  search: z.string().max(255).optional(),
  folderID: idOf('folder').optional(),
});

export const ApiKey = z
  .object({
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
  })
  .meta({ id: 'ApiKey', examples: [exampleApiKey] });

/** The only answer that contains the key. */
export const NewApiKey = ApiKey.extend({ key: z.string().describe('The key itself, which no other answer has') }).meta({
  id: 'NewApiKey',
  examples: [exampleNewApiKey],
});

export const ApiKeys = z.object({ apiKeys: z.array(ApiKey), ...pageFields }).meta({ id: 'ApiKeyPage' });
