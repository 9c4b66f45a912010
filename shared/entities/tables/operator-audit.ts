import { newID } from '../../core/ids.ts';
import { defineEntity, p } from '../base.ts';

/** Actions by operators, and on operators. */
export const OperatorAuditSchema = defineEntity({
  name: 'OperatorAudit',
  tableName: 'operator_audit',
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => newID()),
    /** Null for a login with an unknown address: the text in that field may be a password. */
    operatorID: p.uuid().nullable(),
    sessionID: p.uuid().nullable(),
    action: p.string().$type<OperatorAction>(),
    method: p.string().nullable(),
    path: p.text().nullable(),
    /** Null: the action is under way, or its process has died. */
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
