import { defineEntity, identified, p } from '../base.ts';

/** A person who runs the deployment; not a user of a tenant. */
export const OperatorSchema = defineEntity({
  name: 'Operator',
  tableName: 'operator',
  properties: {
    ...identified,
    /** In lower case. */
    email: p.string(),
    operatorTitle: p.string().nullable(),
    passwordHash: p.text(),
    /** Raised with every new password: a login that has checked the old password gets no session. */
    passwordVersion: p.integer().default(1),
    isDisabled: p.boolean().default(false),
  },
});

export class Operator extends OperatorSchema.class {}
OperatorSchema.setClass(Operator);
