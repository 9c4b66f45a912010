import { z } from 'zod';
import { IterationPath } from '../workflow/frame.ts';

/** Message from a worker to all gateways: reminders that stand in the timelines of runs. */
export const REMINDER_BROADCAST = 'question_reminders';

export const ReminderNotice = z.object({
  tenantID: z.uuid(),
  /** Null for the test of an unsaved graph. */
  workflowID: z.uuid().nullable(),
  /** As the request has them; absent: all who may execute the workflow. */
  approvers: z.array(z.string()).optional(),
  instanceID: z.uuid(),
  nodeID: z.string(),
  iteration: z.int(),
  frame: IterationPath,
  collectionRequestID: z.uuid(),
  title: z.string().nullable(),
  number: z.int(),
  of: z.int(),
});
export type ReminderNotice = z.infer<typeof ReminderNotice>;
