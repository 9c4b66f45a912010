import type { z } from 'zod';
import type { Notification as Entity } from '#shared/entities/tables/notification.ts';
import type { Notification } from '#shared/messaging/realtime/notifications.ts';

export function presentNotification(notification: Entity): z.input<typeof Notification> {
  const { id, userID, tenantID, kind, title, action, actionText, notifierID } = notification;
  return {
    ...{ notificationID: id, userID, tenantID, kind, title, action, actionText },
    description: notification.description ?? null,
    subjectID: notification.subjectID ?? null,
    actionType: 'link',
    notifierID: notifierID ? `user_${notifierID}` : null,
    readAt: notification.readAt?.toISOString() ?? null,
    createdAt: notification.createdAt.toISOString(),
  };
}
