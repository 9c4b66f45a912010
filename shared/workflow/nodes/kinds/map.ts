import { z } from 'zod';
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
        .meta({ title: 'Items at once', description: 'Each works its way through the body' }),
      failurePolicy: z.enum(['fail-fast', 'collect', 'tolerate']).default('fail-fast').meta({
        title: 'After a failed item',
        description:
          '`fail-fast`: the first fails the node, and the others are stopped. `collect` puts the errors into the results. `tolerate` does so for a number of them',
      }),
      toleratedFailures: z.int().min(0).max(100_000).optional().meta({
        title: 'Tolerated failures',
        description: 'With `tolerate`: one more failed item fails the node',
      }),
      collectResults: z.boolean().default(true).meta({
        title: 'Collect results',
        description: 'Otherwise only the numbers are kept, and the result is null',
      }),
      maxIterations: MaxIterations(100_000),
      chunkSize: z.int().min(1).max(1_000).optional().meta({
        title: 'Items of a chunk',
        description:
          'A chunk is a run that works off its items one after the other. Without a number: by the length of the list',
      }),
      errorHandling: z.enum(['fail_workflow', 'continue']).optional().meta({
        title: 'After too many failed items',
        description:
          '`continue` goes on without results. Without a choice: the `error` exit if something is connected to it, else the run fails. So does a map that cannot begin',
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
