import { newID } from '../../core/ids.ts';
import { defineEntity, p } from '../base.ts';

/** A sign-in of an operator. The token itself is not stored, only its SHA-256. */
export const OperatorSessionSchema = defineEntity({
  name: 'OperatorSession',
  tableName: 'operator_session',
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => newID()),
    operatorID: p.uuid(),
    tokenHash: p.blob(),
    ipAddress: p.text(),
    /** The network by which logins are throttled. Clients of other networks cannot lock the operator out of this one. */
    network: p.text(),
    userAgent: p.text().nullable(),
    expiresAt: p.datetime(),
    revokedAt: p.datetime().nullable(),
    createdAt: p.datetime().onCreate(() => new Date()),
  },
});

export class OperatorSession extends OperatorSessionSchema.class {}
OperatorSessionSchema.setClass(OperatorSession);
