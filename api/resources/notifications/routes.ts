import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Membership } from '#shared/entities/tables/membership.ts';
import { Notification as Entity } from '#shared/entities/tables/notification.ts';
import { userRoute } from '../../context/routes.ts';
import { findPage } from '../../http/fields/paging.ts';
import { presentNotification } from './present.ts';
import { NotificationID, NotificationList, Notifications, Read } from './schemas.ts';

/** Notifications of all tenants of the user. */
const filters = { tenant: false } as const;

export const notificationRoutes = [
  userRoute({
    name: 'listNotifications',
    method: 'get',
    path: '/api/v1/notifications',
    summary: 'List notifications',
    description:
      'Returns what the current user should know, newest first: a form or an approval that waits, a schedule, a listener or an OAuth connection of theirs that has stopped, a tenant that they were added to. The last 200 are kept, for 90 days.',
    query: NotificationList,
    response: Notifications,

    async handle({ query, identity: { userID }, em }) {
      const own = await ofTheirTenants(em, userID);
      const where = query.unread ? { ...own, readAt: null } : own;
      const { rows, fields } = await findPage(em, Entity, { where, query, filters });
      const unreadCount = await em.count(Entity, { ...own, readAt: null }, { filters });
      return { notifications: rows.map(presentNotification), unreadCount, ...fields };
    },
  }),

  userRoute({
    name: 'readNotification',
    method: 'post',
    path: '/api/v1/notifications/:notificationID/read',
    summary: 'Mark a notification as read',
    description: 'Keeps when it was read first.',
    params: NotificationID,
    response: Read,
    errors: ['404'],
    // Repeating it changes nothing more.
    idempotent: false,

    async handle({ params: { notificationID: id }, identity: { userID }, em }) {
      const notification = await em.findOne(Entity, { id, ...(await ofTheirTenants(em, userID)) }, { filters });
      if (!notification) throw new AppError('NOT_FOUND', 'Notification not found');
      notification.readAt ??= new Date();
      await em.flush();
      return { notification: presentNotification(notification), message: 'Notification read' };
    },
  }),
];

/**
 * The condition of a user's notifications, in tenants that they are a member of: who has left a tenant learns nothing
 * more of it.
 */
async function ofTheirTenants(em: EntityManager, userID: string) {
  const memberships = await em.find(Membership, { userID }, { fields: ['tenantID'], filters });
  return { userID, tenantID: { $in: memberships.map(({ tenantID }) => tenantID) } };
}
