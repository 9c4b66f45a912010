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
  /** For people: the provider, and who signed in there. */
  name: z.string(),
  provider: z.string(),
  /** Who signed in: null where the provider does not say. */
  accountSubject: z.string().nullable(),
  accountEmail: z.string().nullable(),
  scopes: z.array(z.string()),
  /** `broken`: the provider has ended it, and somebody must connect again. */
  status: z.enum(['connected', 'broken']),
  /** Of the access token, which is refreshed by itself where the provider lets us. */
  expiresAt: z.iso.datetime().nullable(),
  refreshedAt: z.iso.datetime().nullable(),
  creatorID: z.uuid(),
  createdByApiKeyID: z.uuid().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

export const OAuthConnections = z.object({ oauthConnections: z.array(OAuthConnection), ...pageFields });
