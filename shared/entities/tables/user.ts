import { defineEntity, identified, p } from '../base.ts';

/** A person known from an identity provider: unique by issuer and subject. */
export const UserSchema = defineEntity({
  name: 'User',
  tableName: 'app_user',
  properties: {
    ...identified,
    issuer: p.text(),
    subject: p.text(),
    email: p.text().nullable(),
    firstName: p.text().nullable(),
    lastName: p.text().nullable(),
    isDisabled: p.boolean().default(false),
    lastSeen: p.datetime().nullable(),
  },
});

export class User extends UserSchema.class {}
UserSchema.setClass(User);
