import { onPool } from '#shared/db/query.ts';
import { readApproverNames } from '#shared/policy/approvers.ts';
import { ReminderNotice } from '#shared/realtime/reminders.ts';
import type { ApiContext } from '../context.ts';
import { requireGrant } from './join.ts';
import { rooms } from './rooms.ts';
import { type ClientSocket, hasRoom } from './socket.ts';

type Context = Pick<ApiContext, 'authenticator' | 'policy' | 'pool' | 'formLinks' | 'logger'>;

/**
 * Sends reminders to the sockets of this process that are in the room of the tenant, and whose users may answer. Slow ones
 * do not get it: it would be held for them, and what is asked is in the list.
 */
export async function sendReminders(
  sockets: () => Iterable<ClientSocket>,
  context: Context,
  broadcast: unknown,
): Promise<void> {
  for (const notice of ReminderNotice.array().catch([]).parse(broadcast)) {
    const room = rooms.tenant(notice.tenantID);
    const members = Map.groupBy(
      [...sockets()].filter((socket) => socket.data.rooms.has(room) && hasRoom(socket)),
      ({ data }) => data.userID,
    );
    for (const [userID, own] of members) {
      if (!(await mayAnswer(context, userID, notice))) continue;
      const { tenantID, workflowID: _, approvers: __, linkPath: path, ...shown } = notice;
      const answerURL = path === undefined ? null : context.formLinks.urlOf({ ...shown, tenantID, path });
      for (const socket of own) socket.emit('workflow_data_collection_reminder', { ...shown, answerURL });
    }
  }
}

async function mayAnswer(context: Context, userID: string, notice: ReminderNotice): Promise<boolean> {
  const { tenantID, workflowID, approvers } = notice;
  try {
    const object = `workflow:${workflowID ?? '*'}`;
    await requireGrant(context, userID, { tenantID, access: { permissions: ['workflow.execute'], object } });
    if (!approvers) return true;
    const names = await readApproverNames(onPool(context.pool), tenantID, userID);
    return names.some((name) => approvers.includes(name));
  } catch (error) {
    context.logger.debug({ err: error }, 'a reminder is not sent to a user who may not answer');
    return false;
  }
}
