import { z } from 'zod';
import { OutputVariable } from '../common.ts';
import { defineNode } from '../define-node.ts';
import { checkIterationVariables, MaxIterations, repeating } from '../repeating.ts';

/** Runs its body for each item of a list, one after the other, and collects the results of the items. */
export const loop = defineNode({
  kind: 'loop',
  label: 'Loop',
  config: z
    .object({
      ...repeating,
      outputVariable: OutputVariable('loopResults'),
      maxIterations: MaxIterations(1000),
      delayBetweenItems: z
        .int()
        .min(0)
        .max(60_000)
        .default(0)
        .meta({ title: 'Pause between items (ms)', description: 'Before each item but the first' }),
      errorHandling: z.enum(['fail_workflow', 'continue', 'skip_item']).optional().meta({
        title: 'After a failed item',
        description:
          '`continue` puts the error into the results, `skip_item` leaves the item out. Without a choice: the `error` exit if something is connected to it, else the run fails. So does a loop that cannot begin',
      }),
    })
    .superRefine(checkIterationVariables),
  names: {},
  exits: ['loop', 'completed', 'error'],
  usualExit: 'completed',
  exitAliases: { done: 'completed' },
  body: 'loop',
  pure: false,
  clocked: false,
  templated: ['sourceVariable'],
  timeoutSeconds: 60,
  defaultValue: { title: 'Loop', sourceVariable: '{{ctx.input.items}}', outputVariable: 'loopResults' },
});
