import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';
import { oauthConnectionStates } from '#shared/entities/tables/oauth-connection.ts';
import { pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { exampleConnection } from './examples.ts';

export const OAuthConnectionID = z.object({ oauthConnectionID: idOf('oauthConnection') });

export const OAuthConnectionList = z.object({
  ...pageQuery(standardPage),
  provider: z.string().max(64).optional(),
});

export const OAuthConnection = z
  .object({
    id: z.uuid(),
    oauthConnectionID: z.uuid(),
    tenantID: z.uuid(),
    name: z.string().describe('For people: the provider and the account'),
    provider: z.string(),
    accountSubject: z.string().nullable().describe('The id of the account; null if the provider does not tell it'),
    accountEmail: z.string().nullable(),
    scopes: z.array(z.string()),
    status: z
      .enum(oauthConnectionStates)
      .describe(
        '`failing`: its tokens have expired and cannot be refreshed, which every use tries again. `broken`: the provider ended it, and the account must be connected again. The creator is notified of both',
      ),
    lastError: z.string().nullable().describe('Why its tokens could not be refreshed the last time; null: they could'),
    expiresAt: z.iso
      .datetime()
      .nullable()
      .describe('When the access token expires; it is refreshed if the provider allows it'),
    refreshedAt: z.iso.datetime().nullable(),
    creatorID: z.uuid(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'OAuthConnection', examples: [exampleConnection] });

export const OAuthConnections = z
  .object({
    oauthConnections: z.array(OAuthConnection),
    providers: z.array(z.string()).describe('The providers of this deployment, at which accounts can be connected'),
    ...pageFields,
  })
  .meta({ id: 'OAuthConnectionPage' });
