import { defineEntity, identified, p, tenantFilter } from '../base.ts';

/** An account at an OAuth provider that a tenant may use. Its tokens are sealed; only workers open and refresh them. */
export const OAuthConnectionSchema = defineEntity({
  name: 'OAuthConnection',
  tableName: 'oauth_connection',
  filters: tenantFilter,
  properties: {
    ...identified,
    tenantID: p.uuid(),
    creatorID: p.uuid(),
    createdByApiKeyID: p.uuid().nullable(),
    provider: p.string(),
    /** The account that signed in, if the provider names it. */
    accountSubject: p.text().nullable(),
    accountEmail: p.text().nullable(),
    scopes: p.json().$type<string[]>(),
    tokens: p.text(),
    /** Expiry of the access token; null: the provider does not say. */
    expiresAt: p.datetime().nullable(),
    /** When the access token is to be refreshed: shortly before it expires. */
    refreshAt: p.datetime().nullable(),
    refreshedAt: p.datetime().nullable(),
    /** `broken`: the provider refuses the refresh token, and a person must connect again. */
    status: p.string().$type<'connected' | 'broken'>().default('connected'),
    /** Raised with every change of the tokens. */
    generation: p.integer().default(1),
    /** The claim of the worker that refreshes the tokens, and its end: one refresh at a time over all workers. */
    refreshClaim: p.uuid().nullable(),
    refreshUntil: p.datetime().nullable(),
  },
});

export class OAuthConnection extends OAuthConnectionSchema.class {}
OAuthConnectionSchema.setClass(OAuthConnection);
