import { z } from 'zod';
import { namedEnum } from '../../../core/schema/enum-names.ts';
import { OutputVariable } from '../common.ts';
import { defineNode } from '../define-node.ts';
import { neededExits } from '../exits.ts';
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
      notByStarter: z.boolean().default(false).meta({
        title: 'Not the person who started the run',
        description:
          'Another person must answer; add a colleague who may if there is none. A test is answered by anyone',
      }),
      requireComment: z
        .boolean()
        .default(false)
        .meta({ title: 'Comment required', description: 'An answer without a comment is refused' }),
      approveLabel: z
        .string()
        .max(255)
        .default('Accept')
        .meta({ title: 'Button to approve', description: 'What it says' }),
      rejectLabel: z
        .string()
        .max(255)
        .default('Reject')
        .meta({ title: 'Button to reject', description: 'What it says' }),
      cancelLabel: z
        .string()
        .max(255)
        .default('Cancel')
        .meta({ title: 'Button to close', description: 'What it says; it answers nothing' }),
      onTimeout: namedEnum({ expired: 'Go on by the exit “expired”', fail: 'Fail' })
        .default('expired')
        .meta({ title: 'Without an answer in time', description: 'Once the question has expired' }),
      outputVariable: OutputVariable('approval'),
    })
    .superRefine(checkReminders),
  names: {},
  exits: ['approved', 'rejected', 'expired', 'error'],
  usualExit: 'approved',
  // A failure must not count as an approval.
  failedExit: 'rejected',
  needsEdge: neededExits.approval,
  pure: false,
  clocked: false,
  asks: true,
  timeoutSeconds: 60,
  defaultValue: { title: 'Approve', expiryMinutes: 60 },
});
