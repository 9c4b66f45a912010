import { z } from 'zod';
import { ID } from '../../http/id.ts';
import { pageFields, pageQuery, standardPage } from '../../http/paging.ts';

export const OAuthConnectionID = z.object({ oauthConnectionID: ID });

export const OAuthConnectionList = z.object({
  ...pageQuery(standardPage),
  provider: z.string().max(64).optional(),
});

export const OAuthConnection = z.object({
  id: z.uuid(),
  oauthConnectionID: z.uuid(),
  tenantID: z.uuid(),
  /** Title: the provider and the account. */
  name: z.string(),
  provider: z.string(),
  /** The account's e-mail address or name; null if the provider does not send one. */
  accountSubject: z.string().nullable(),
  accountEmail: z.string().nullable(),
  scopes: z.array(z.string()),
  /** `broken`: the provider has ended the grant, and a user must connect again. */
  status: z.enum(['connected', 'broken']),
  /** Expiry of the access token, which is refreshed automatically if the provider allows it. */
  expiresAt: z.iso.datetime().nullable(),
  refreshedAt: z.iso.datetime().nullable(),
  creatorID: z.uuid(),
  createdByApiKeyID: z.uuid().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

export const OAuthConnections = z.object({ oauthConnections: z.array(OAuthConnection), ...pageFields });
