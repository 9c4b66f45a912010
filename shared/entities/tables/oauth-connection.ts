import { defineEntity, identified, p, tenantFilter } from '../base.ts';

/**
 * `failing`: its tokens have expired and cannot be refreshed, which every use tries again. `broken`: the provider has ended it, and a
 * person must connect again.
 */
export const oauthConnectionStates = ['connected', 'failing', 'broken'] as const;
export type OAuthConnectionStatus = (typeof oauthConnectionStates)[number];

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
    /** See `oauthConnectionStates`. */
    status: p.string().$type<OAuthConnectionStatus>().default('connected'),
    /** Why the tokens could not be refreshed the last time; null: they could. */
    lastError: p.text().nullable(),
    /** Raised with every change of the tokens. */
    generation: p.integer().default(1),
    /** The claim of the worker that refreshes the tokens, and its end: one refresh at a time over all workers. */
    refreshClaim: p.uuid().nullable(),
    refreshUntil: p.datetime().nullable(),
  },
});

export class OAuthConnection extends OAuthConnectionSchema.class {}
OAuthConnectionSchema.setClass(OAuthConnection);
