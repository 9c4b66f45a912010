import { z } from 'zod';
import { tenantEvents } from './events.ts';

/** Message from a worker to all gateways: reminders that stand in the timelines of runs. */
export const REMINDER_BROADCAST = 'question_reminders';

/** What is shown to those who may answer, and who they are. */
export const ReminderNotice = tenantEvents.workflow_data_collection_reminder.omit({ answerURL: true }).extend({
  tenantID: z.uuid(),
  /** Null for the test of an unsaved graph. */
  workflowID: z.uuid().nullable(),
  /** As the request has them; absent: all who may execute the workflow. */
  approvers: z.array(z.string()).optional(),
  /** See `pathKey`; present if the node takes answers by link. */
  linkPath: z.string().optional(),
});
export type ReminderNotice = z.infer<typeof ReminderNotice>;
