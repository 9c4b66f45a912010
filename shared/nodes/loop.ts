import { z } from 'zod';
import { Json } from '../json.ts';
import { isReservedKey } from '../workflow/reserved.ts';
import { described, Identifier } from './common.ts';
import { defineNode } from './define-node.ts';

/** Runs its body once for each item of a list, one after the other, and collects what each time gave. */
export const loop = defineNode({
  kind: 'loop',
  label: 'Loop',
  config: z
    .object({
      ...described,
      /** A list. Another value is a list of one, and null an empty list. */
      sourceVariable: Json,
      itemVariable: IterationVariable('item'),
      indexVariable: IterationVariable('index'),
      outputVariable: Identifier.default('loopResults'),
      /** A longer list fails the node. */
      maxIterations: z.int().min(1).max(100_000).default(1000),
      /** Milliseconds. */
      delayBetweenItems: z.int().min(0).max(60_000).default(0),
      /** What the failure of an item does. Absent: the `error` exit when something is connected to it, else the run fails. */
      errorHandling: z.enum(['fail_workflow', 'continue', 'skip_item']).optional(),
    })
    .refine(({ itemVariable, indexVariable }) => itemVariable !== indexVariable, {
      path: ['indexVariable'],
      message: 'must differ from itemVariable',
    }),
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

/** A key of `ctx` inside of the body. */
function IterationVariable(name: 'item' | 'index') {
  return Identifier.refine((key) => key === 'item' || key === 'index' || !isReservedKey(key), {
    error: 'is a reserved name',
  }).default(name);
}
