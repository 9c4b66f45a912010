import type { Caller } from '../../core/caller.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** An authorization under way at a provider. The callback deletes the row, so that it works only once. */
export const OAuthFlowSchema = defineEntity({
  name: 'OAuthFlow',
  tableName: 'oauth_flow',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    tenantID: p.uuid(),
    /** The connection that gets new tokens; null if a connection is to be created. */
    oauthConnectionID: p.uuid().nullable(),
    caller: p.json().$type<Caller>(),
    /** SHA-256 of the secret that only the browser has, as hex. */
    browserHash: p.string(),
    expiresAt: p.datetime(),
  },
});

export class OAuthFlow extends OAuthFlowSchema.class {}
OAuthFlowSchema.setClass(OAuthFlow);
