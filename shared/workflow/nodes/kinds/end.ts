import { z } from 'zod';
import { Json } from '../../../core/json.ts';
import { namedEnum } from '../../../core/schema/enum-names.ts';
import { readable } from '../../reserved.ts';
import { described } from '../common.ts';
import { defineNode } from '../define-node.ts';

export const EndStatus = namedEnum({ success: 'Completed', failure: 'Failed', cancelled: 'Cancelled' });
export type EndStatus = z.infer<typeof EndStatus>;

/** Ends a branch and sets outputs of the run. The run ends when every branch has ended, or at this node if it cancels the others. */
export const end = defineNode({
  kind: 'end',
  label: 'End',
  config: z.object({
    ...described,
    status: EndStatus.default('success').meta({
      title: 'The run ends as',
      description: 'Where a run comes to several ends, the worst counts',
    }),
    message: z
      .string()
      .max(10_000)
      .optional()
      .meta({ title: 'Message', description: 'The error of a run that fails here' }),
    cancelOthers: z.boolean().optional().meta({
      title: 'Cancel the rest',
      description: 'Whether what still runs is cancelled. Not set: yes, unless the run ends as completed',
    }),
    outputParameters: z
      .array(
        z.object({
          id: z
            .string()
            .optional()
            .meta({ title: 'ID', description: 'Of the row in the editor; it has no effect', deprecated: true }),
          name: z
            .string()
            .min(1)
            .max(255)
            .refine(...readable)
            .meta({ title: 'Name', description: 'Its name in the output of the run' }),
          sourceVariable: Json.meta({
            title: 'Value',
            description: 'Mostly an expression, such as `{{ctx.queryResult}}`',
          }),
          description: z
            .string()
            .optional()
            .meta({ title: 'Description', description: 'A note for those who read the workflow' }),
        }),
      )
      .default([])
      .meta({ title: 'Output', description: 'What the run returns to its caller' }),
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
