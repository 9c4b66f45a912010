import { defineEntity, p, tenantFilter } from '../base.ts';

/** Tokens that no connection has (any more) and that workers revoke at the provider. Triggers write most of the rows. */
export const OAuthRevocationSchema = defineEntity({
  name: 'OAuthRevocation',
  tableName: 'oauth_revocation',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    tenantID: p.uuid(),
    /** The connection that the tokens were sealed for: its id is in their context. */
    oauthConnectionID: p.uuid(),
    creatorID: p.uuid(),
    provider: p.string(),
    accountSubject: p.text().nullable(),
    accountEmail: p.text().nullable(),
    tokens: p.text(),
  },
});

export class OAuthRevocation extends OAuthRevocationSchema.class {}
OAuthRevocationSchema.setClass(OAuthRevocation);
