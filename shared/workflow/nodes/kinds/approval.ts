import { z } from 'zod';
import { OutputVariable } from '../common.ts';
import { defineNode } from '../define-node.ts';
import { checkReminders } from '../reminders.ts';
import { requestFields } from '../request-fields.ts';

/** Asks a person to approve or to reject, and waits for the answer. */
export const approval = defineNode({
  kind: 'approval',
  label: 'Approval',
  config: z
    .object({
      ...requestFields,
      collectionType: z
        .literal('approval')
        .default('approval')
        .meta({ title: 'Type of question', description: 'An approval' }),
      requireComment: z
        .boolean()
        .default(false)
        .meta({ title: 'Comment required', description: 'An answer needs a comment' }),
      approveLabel: z
        .string()
        .max(255)
        .default('Accept')
        .meta({ title: 'Label to approve', description: 'Text of the button' }),
      rejectLabel: z
        .string()
        .max(255)
        .default('Reject')
        .meta({ title: 'Label to reject', description: 'Text of the button' }),
      cancelLabel: z
        .string()
        .max(255)
        .default('Cancel')
        .meta({ title: 'Label to close', description: 'Text of the button that answers nothing' }),
      onTimeout: z.enum(['expired', 'fail']).default('expired').meta({
        title: 'Without an answer in time',
        description: 'Leave by the exit `expired`, or fail',
      }),
      outputVariable: OutputVariable('approval'),
    })
    .superRefine(checkReminders),
  names: {},
  exits: ['approved', 'rejected', 'expired', 'error'],
  usualExit: 'approved',
  // A failure must not count as an approval.
  failedExit: 'rejected',
  // Without an edge, a rejection or an expiry would end the run as if it had been approved.
  needsEdge: ['rejected', 'expired'],
  pure: false,
  clocked: false,
  asks: true,
  timeoutSeconds: 60,
  defaultValue: { title: 'Approve', expiryMinutes: 60 },
});
