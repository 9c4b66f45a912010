import { z } from 'zod';
import { Json } from '../json.ts';
import { described } from './common.ts';
import { defineNode } from './define-node.ts';

export const EndStatus = z.enum(['success', 'failure', 'cancelled']);

/** Ends a branch and says what the run answers. The run ends when every branch has. */
export const end = defineNode({
  kind: 'end',
  label: 'End',
  config: z.object({
    ...described,
    status: EndStatus.default('success'),
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
  exits: [],
  timeoutSeconds: 60,
  defaultValue: { title: 'End', status: 'success', outputParameters: [] },
});
