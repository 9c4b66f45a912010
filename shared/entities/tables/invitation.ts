import { defineEntity, identified, p, tenantFilter } from '../base.ts';

/** An invited person. A user who signs in with this address becomes a member. */
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
