import type { Caller } from '../../caller.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** Somebody is on the way to a provider and back. The row goes when they return, so that nobody returns twice. */
export const OAuthFlowSchema = defineEntity({
  name: 'OAuthFlow',
  tableName: 'oauth_flow',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    tenantID: p.uuid(),
    /** The connection that gets new tokens; null where one is to be made. */
    oauthConnectionID: p.uuid().nullable(),
    caller: p.json().$type<Caller>(),
    /** SHA-256 of what only the browser has, as hex. */
    browserHash: p.string(),
    expiresAt: p.datetime(),
  },
});

export class OAuthFlow extends OAuthFlowSchema.class {}
OAuthFlowSchema.setClass(OAuthFlow);
