import { z } from 'zod';
import { namedEnum } from '../../../core/schema/enum-names.ts';
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
      errorHandling: namedEnum({
        fail_workflow: 'Fail the run',
        continue: 'Go on, with the error among the results',
        skip_item: 'Go on, without a result of the item',
      })
        .optional()
        .meta({
          title: 'After a failed item',
          description:
            'Empty: the run goes on by the exit `error` if something is connected to it, else it fails. So does a loop that cannot begin',
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
