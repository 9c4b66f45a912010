import { z } from 'zod';
import { tenantEvents } from './events.ts';

/** Message from a worker to all gateways: reminders, which are also events in the timelines of runs. */
export const REMINDER_BROADCAST = 'question_reminders';

/** A reminder as it is sent to those who may answer, with the fields by which the gateway finds them. */
export const ReminderMessage = tenantEvents.workflow_data_collection_reminder.omit({ answerURL: true }).extend({
  tenantID: z.uuid(),
  /** Null for the test of an unsaved graph. */
  workflowID: z.uuid().nullable(),
  /** Approvers as the request has them; absent: all who may execute the workflow. */
  approvers: z.array(z.string()).optional(),
  /** The user who may not answer, since another must. */
  notBy: z.string().optional(),
  /** The `path` of the request in a form link (`RequestAddress`); present if the node accepts answers by link. */
  linkPath: z.string().optional(),
});
export type ReminderMessage = z.infer<typeof ReminderMessage>;
