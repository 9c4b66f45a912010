import { z } from 'zod';
import { Json } from '../json.ts';
import { described } from './common.ts';
import { defineNode } from './define-node.ts';

export const EndStatus = z.enum(['success', 'failure', 'cancelled']);
export type EndStatus = z.infer<typeof EndStatus>;

/** Ends a branch and says what the run answers. The run ends when every branch has, or here, if it cancels the others. */
export const end = defineNode({
  kind: 'end',
  label: 'End',
  config: z.object({
    ...described,
    status: EndStatus.default('success'),
    /** Of a run that fails here. */
    message: z.string().max(10_000).optional(),
    /** Whether what still runs is cancelled. Absent: yes, unless the status is `success`. */
    cancelOthers: z.boolean().optional(),
    outputParameters: z
      .array(
        z.object({
          id: z.string().optional(),
          name: z.string().min(1).max(255),
          sourceVariable: Json,
          description: z.string().optional(),
        }),
      )
      .default([]),
  }),
  names: {},
  exits: [],
  usualExit: null,
  ends: true,
  // Except for `completedAt`, which no later node reads.
  pure: true,
  clocked: false,
  templated: ['outputParameters.*.sourceVariable'],
  timeoutSeconds: 60,
  defaultValue: { title: 'End', status: 'success', outputParameters: [] },
});
