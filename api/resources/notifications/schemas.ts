import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';
import { Notification } from '#shared/messaging/realtime/notifications.ts';
import { Flag } from '../../http/fields/flag.ts';
import { pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';

export const NotificationID = z.object({ notificationID: idOf('notification') });

export const NotificationList = z.object({
  ...pageQuery(standardPage),
  unread: Flag.describe('Returns only those that are not read'),
});

export const Notifications = z
  .object({
    notifications: z.array(Notification),
    unreadCount: z
      .int()
      .describe('Of all that are kept')
      .meta({ examples: [3] }),
    ...pageFields,
  })
  .meta({ id: 'NotificationPage' });

export const Read = z.object({ notification: Notification, message: Message });
