import { z } from 'zod';
import { asking } from './asking.ts';
import { Identifier } from './common.ts';
import { defineNode } from './define-node.ts';

/** Asks a person to approve or to reject, and waits for the answer. */
export const approval = defineNode({
  kind: 'approval',
  label: 'Approval',
  config: z.object({
    ...asking,
    collectionType: z.literal('approval').default('approval'),
    requireComment: z.boolean().default(false),
    approveLabel: z.string().max(255).default('Accept'),
    rejectLabel: z.string().max(255).default('Reject'),
    cancelLabel: z.string().max(255).default('Cancel'),
    onTimeout: z.enum(['expired', 'fail']).default('expired'),
    outputVariable: Identifier.default('approval'),
  }),
  names: {},
  exits: ['approved', 'rejected', 'expired', 'error'],
  usualExit: 'approved',
  // A failure must not count as an approval.
  failedExit: 'rejected',
  needsEdge: ['expired'],
  pure: false,
  clocked: false,
  timeoutSeconds: 60,
  defaultValue: { title: 'Approve', expiryMinutes: 60 },
});
