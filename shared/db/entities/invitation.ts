import { defineEntity, identified, p, tenantFilter } from '../base.ts';

/** A person who is to be a member as soon as somebody signs in with this address. */
export const InvitationSchema = defineEntity({
  name: 'Invitation',
  tableName: 'invitation',
  filters: tenantFilter,
  properties: {
    ...identified,
    tenantID: p.uuid(),
    /** In lower case. */
    email: p.text(),
    roleIDs: p.json().$type<string[]>().fieldName('role_ids'),
    creatorID: p.uuid(),
    createdByApiKeyID: p.uuid().nullable(),
    folderID: p.uuid().nullable(),
  },
});

export class Invitation extends InvitationSchema.class {}
InvitationSchema.setClass(Invitation);
