import { z } from 'zod';
import { JsonObject } from '../../../core/json.ts';
import { idOf, inputsOf } from '../../../core/schema/reference.ts';
import { OutputVariable, waiting } from '../common.ts';
import { defineNode } from '../define-node.ts';

/**
 * Runs another workflow of the tenant and waits for it; its `end` outputs are the node's value. Only the time limits of both workflows end the
 * wait: `workflowRunTimeout` of the called one, and the deadline of the calling run.
 */
export const subWorkflow = defineNode({
  kind: 'subWorkflow',
  label: 'Sub-workflow',
  config: z.object({
    ...waiting,
    childWorkflowID: idOf('workflow').meta({ title: 'Workflow', description: 'The workflow to run' }),
    inputMapping: inputsOf(JsonObject.default({}), 'childWorkflowID').meta({
      title: 'Inputs',
      description: 'What the workflow is given',
    }),
    outputVariable: OutputVariable('subResult'),
    mergeOutputs: z.boolean().default(false).meta({
      title: 'Merge outputs',
      description:
        'Each of its outputs can also be read by its own name: `{{ctx.total}}` beside `{{ctx.subResult.total}}`',
    }),
    maxDepth: z.int().min(1).max(10).default(5).meta({
      title: 'Deepest nesting',
      description: 'How many sub-workflows deep this one may be, if they call each other',
    }),
    ctxMode: z
      .literal('isolated')
      .default('isolated')
      .meta({ title: 'Context', description: 'The sub-workflow sees its inputs, and nothing else of this run' }),
  }),
  names: { childWorkflowID: { permission: 'workflow.execute', neededBy: 'caller' } },
  exits: ['success', 'error'],
  usualExit: 'success',
  pure: false,
  clocked: false,
  spreads: ({ mergeOutputs }) => mergeOutputs,
  templated: ['inputMapping.*'],
  timeoutSeconds: 60,
  defaultValue: { title: 'Sub-workflow', childWorkflowID: '00000000-0000-4000-8000-000000000000' },
});
