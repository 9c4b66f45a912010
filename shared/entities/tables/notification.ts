import type { Notification as Message } from '../../messaging/realtime/notifications.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** Something that a user should know. Triggers write it in the transaction that causes it, and delete all but the last 200 of a user. */
export const NotificationSchema = defineEntity({
  name: 'Notification',
  tableName: 'notification',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    tenantID: p.uuid(),
    userID: p.uuid(),
    kind: p.string().$type<Message['kind']>(),
    title: p.string(),
    description: p.text().nullable(),
    /** The subject of the notification. */
    subjectID: p.uuid().nullable(),
    /** A path from the address of the admin UI. */
    action: p.text(),
    actionText: p.string(),
    notifierID: p.uuid().nullable(),
    readAt: p.datetime().nullable(),
    createdAt: p.datetime(),
  },
});

export class Notification extends NotificationSchema.class {}
NotificationSchema.setClass(Notification);
