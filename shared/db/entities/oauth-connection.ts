import { defineEntity, identified, p, tenantFilter } from '../base.ts';

/** An account at a provider of OAuth that a tenant may use. Its tokens are sealed; workers alone open and refresh them. */
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
    /** Who signed in, where the provider says so. */
    accountSubject: p.text().nullable(),
    accountEmail: p.text().nullable(),
    scopes: p.json().$type<string[]>(),
    tokens: p.text(),
    /** Of the access token; null: the provider does not say. */
    expiresAt: p.datetime().nullable(),
    /** When the access token is to be refreshed: shortly before it expires. */
    refreshAt: p.datetime().nullable(),
    refreshedAt: p.datetime().nullable(),
    /** `broken`: the provider refuses the refresh token, and a person must connect again. */
    status: p.string().$type<'connected' | 'broken'>().default('connected'),
    /** Raised with every change of the tokens. */
    generation: p.integer().default(1),
    /** Whoever refreshes has claimed it, for as long as it says: one at a time, in all workers. */
    refreshClaim: p.uuid().nullable(),
    refreshUntil: p.datetime().nullable(),
  },
});

export class OAuthConnection extends OAuthConnectionSchema.class {}
OAuthConnectionSchema.setClass(OAuthConnection);
