import { newID } from '../../ids.ts';
import { defineEntity, p } from '../base.ts';

/** An operator signed in. The token itself is nowhere: only its SHA-256. */
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
    /** The address as throttling counts it; where somebody has signed in before, strangers cannot lock them out. */
    network: p.text(),
    userAgent: p.text().nullable(),
    expiresAt: p.datetime(),
    revokedAt: p.datetime().nullable(),
    createdAt: p.datetime().onCreate(() => new Date()),
  },
});

export class OperatorSession extends OperatorSessionSchema.class {}
OperatorSessionSchema.setClass(OperatorSession);
