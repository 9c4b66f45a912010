import { z } from 'zod';
import { namedEnum } from '../../../core/schema/enum-names.ts';
import { OutputVariable } from '../common.ts';
import { defineNode } from '../define-node.ts';
import { checkIterationVariables, MaxIterations, repeating } from '../repeating.ts';

/** Runs its body for each item of a list, many at once and on any worker, and collects the results in the order of the items. */
export const map = defineNode({
  kind: 'map',
  label: 'Map',
  config: z
    .object({
      ...repeating,
      outputVariable: OutputVariable('mapResults'),
      concurrency: z
        .int()
        .min(1)
        .max(1_000)
        .default(10)
        .meta({ title: 'Items at once', description: 'How many items the steps inside work on at the same time' }),
      failurePolicy: namedEnum({
        'fail-fast': 'Fail, and stop the other items',
        collect: 'Go on, with the errors among the results',
        tolerate: 'Go on, until too many have failed',
      })
        .default('fail-fast')
        .meta({ title: 'After a failed item', description: 'What happens to the other items' }),
      toleratedFailures: z.int().min(0).max(100_000).optional().meta({
        title: 'Tolerated failures',
        description: 'How many items may fail before the step fails',
      }),
      collectResults: z.boolean().default(true).meta({
        title: 'Collect results',
        description: 'Otherwise the result is null, and only the numbers of items are kept',
      }),
      maxIterations: MaxIterations(100_000),
      chunkSize: z.int().min(1).max(1_000).optional().meta({
        title: 'Items per chunk',
        description:
          'A chunk is a run that processes its items one after the other. Empty: chosen by the length of the list',
      }),
      errorHandling: namedEnum({ fail_workflow: 'Fail the run', continue: 'Go on without results' }).optional().meta({
        title: 'After too many failed items',
        description:
          'Empty: the run goes on by the exit `error` if something is connected to it, else it fails. So does a map that cannot begin',
      }),
    })
    .superRefine(checkIterationVariables)
    .refine(
      ({ failurePolicy, toleratedFailures }) => (failurePolicy === 'tolerate') === (toleratedFailures !== undefined),
      { path: ['toleratedFailures'], message: 'is expected with failurePolicy "tolerate", and only there' },
    ),
  names: {},
  exits: ['map', 'completed', 'error'],
  usualExit: 'completed',
  exitAliases: { done: 'completed' },
  body: 'map',
  chunked: true,
  pure: false,
  clocked: false,
  templated: ['sourceVariable'],
  timeoutSeconds: 60,
  defaultValue: { title: 'Map', sourceVariable: '{{ctx.input.items}}', outputVariable: 'mapResults' },
});
