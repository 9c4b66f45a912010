import { z } from 'zod';
import { JsonObject } from '../json.ts';
import { Identifier, working } from './common.ts';
import { defineNode } from './define-node.ts';

/** Runs another workflow of the tenant and waits for it; its `end` outputs are the node's value. */
export const subWorkflow = defineNode({
  kind: 'subWorkflow',
  label: 'Sub-workflow',
  config: z.object({
    ...working,
    childWorkflowID: z.uuid().toLowerCase(),
    inputMapping: JsonObject.default({}),
    outputVariable: Identifier.default('subResult'),
    mergeOutputs: z.boolean().default(false),
    maxDepth: z.int().min(1).max(10).default(5),
    ctxMode: z.literal('isolated').default('isolated'),
  }),
  names: { childWorkflowID: { permission: 'workflow.execute', neededBy: 'caller' } },
  exits: ['success', 'error'],
  usualExit: 'success',
  pure: false,
  clocked: false,
  spreads: ({ mergeOutputs }) => mergeOutputs,
  templated: ['inputMapping.*'],
  timeoutSeconds: 300,
  defaultValue: { title: 'Sub-workflow', childWorkflowID: '00000000-0000-4000-8000-000000000000' },
});
