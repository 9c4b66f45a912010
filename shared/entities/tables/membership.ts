import { defineEntity, p, tenantFilter } from '../base.ts';

export const MembershipSchema = defineEntity({
  name: 'Membership',
  tableName: 'membership',
  filters: tenantFilter,
  properties: {
    tenantID: p.uuid().primary(),
    userID: p.uuid().primary(),
    role: p.string().$type<'ADMIN' | 'MEMBER'>().default('MEMBER'),
    folderID: p.uuid().nullable(),
    createdAt: p.datetime().onCreate(() => new Date()),
    updatedAt: p
      .datetime()
      .onCreate(() => new Date())
      .onUpdate(() => new Date()),
  },
});

export class Membership extends MembershipSchema.class {}
MembershipSchema.setClass(Membership);
