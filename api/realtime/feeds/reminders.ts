import { ReminderMessage } from '#shared/messaging/realtime/reminders.ts';
import type { ApiContext } from '../../context/context.ts';
import { mayAnswer } from '../sockets/may-answer.ts';
import { type Member, type RoomContext, type Sockets, tellMembers } from '../sockets/tenant-room.ts';

/** Sends reminders to the sockets of this process that are in the room of the tenant, and whose users may answer. */
export async function sendReminders(
  sockets: Sockets,
  context: RoomContext & Pick<ApiContext, 'runs'>,
  broadcast: unknown,
): Promise<void> {
  for (const reminder of ReminderMessage.array().catch([]).parse(broadcast)) {
    const { tenantID, workflowID: _, approvers: __, notBy: ___, linkPath: path, ...shown } = reminder;
    const answerURL = path === undefined ? null : context.runs.formLinks.urlOf({ ...shown, tenantID, path });
    const hear = async (member: Member) =>
      (await mayAnswer(context, member)(reminder)) ? [{ ...shown, answerURL }] : [];
    await tellMembers(sockets, context, { tenantID, event: 'workflow_data_collection_reminder', hear });
  }
}
