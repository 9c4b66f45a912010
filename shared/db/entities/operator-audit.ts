import { newID } from '../../ids.ts';
import { defineEntity, p } from '../base.ts';

/** What operators do, and what is done to them. */
export const OperatorAuditSchema = defineEntity({
  name: 'OperatorAudit',
  tableName: 'operator_audit',
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => newID()),
    /** Null for a login with an address nobody has: what was typed there may be a password. */
    operatorID: p.uuid().nullable(),
    sessionID: p.uuid().nullable(),
    action: p.string().$type<OperatorAction>(),
    method: p.string().nullable(),
    path: p.text().nullable(),
    /** Null: it was begun, and the process died or is still at it. */
    status: p.integer().nullable(),
    ipAddress: p.text().nullable(),
    userAgent: p.text().nullable(),
    createdAt: p.datetime().onCreate(() => new Date()),
  },
});

export type OperatorAction =
  | 'LOGIN'
  | 'LOGIN_FAILED'
  | 'LOGOUT'
  | 'REQUEST'
  | 'BOARD'
  | 'USER_BLOCKED'
  | 'USER_UNBLOCKED'
  | 'CREATED'
  | 'PASSWORD_RESET'
  | 'DISABLED'
  | 'ENABLED';

export class OperatorAudit extends OperatorAuditSchema.class {}
OperatorAuditSchema.setClass(OperatorAudit);
