import { Notification } from '#shared/messaging/realtime/notifications.ts';
import type { ApiContext } from '../../context/context.ts';
import { type ClientSocket, hasCapacity } from '../sockets/socket.ts';
import { followRows } from './follow-rows.ts';

/**
 * Sends notifications to the sockets of their users in this process. Slow sockets are skipped: their users find them in
 * the list.
 */
export function startNotifications(
  sockets: () => Iterable<ClientSocket>,
  context: Pick<ApiContext, 'access' | 'pool' | 'logger'>,
): Disposable {
  return followRows<Record<string, unknown> & { createdAt: string }>(
    {
      name: 'notifications',
      table: 'notification',
      owner: 'user_id',
      fields: `'notificationID', id, 'userID', user_id, 'tenantID', tenant_id, 'kind', kind, 'title', title, 'description', description,
        'subjectID', subject_id, 'actionType', 'link', 'action', action, 'actionText', action_text,
        'notifierID', 'user_' || notifier_id, 'readAt', null, 'createdAt', created_at`,
      wanted: () => [...new Set([...sockets()].map(({ data }) => data.userID))],
      async deliver(rows) {
        for (const row of rows) {
          const createdAt = new Date(row.createdAt).toISOString();
          // Newer processes may write kinds that this one does not know.
          const notification = Notification.safeParse({ ...row, createdAt }).data;
          if (notification && (await isMember(context, notification))) send(sockets(), notification);
        }
      },
    },
    context,
  );
}

/** Asked when a notification is sent: a user who has just left the tenant does not get it. */
async function isMember(
  { access: { authenticator } }: Pick<ApiContext, 'access'>,
  { userID, tenantID }: Notification,
): Promise<boolean> {
  return Boolean(await authenticator.findMembership(userID, tenantID));
}

function send(sockets: Iterable<ClientSocket>, notification: Notification): void {
  for (const socket of sockets)
    if (socket.data.userID === notification.userID && hasCapacity(socket)) socket.emit('notification', notification);
}
