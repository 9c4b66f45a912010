import { z } from 'zod';
import { Json } from '../../core/json.ts';
import { described, IterationVariable } from './common.ts';

/** Fields of kinds that repeat a body for the items of a list. */
export const repeating = {
  ...described,
  sourceVariable: Json.meta({
    title: 'Items',
    description:
      'The list whose items are worked off, such as the rows of a query. Another value counts as a list of one, and null as an empty list',
  }),
  itemVariable: IterationVariable('item'),
  indexVariable: IterationVariable('index'),
};

/** How many items the list may have. */
export function MaxIterations(count: number) {
  return z
    .int()
    .min(1)
    .max(100_000)
    .default(count)
    .meta({ title: 'Longest list', description: 'The step fails if the list has more items' });
}

export function checkIterationVariables(
  { itemVariable, indexVariable }: { itemVariable: string; indexVariable: string },
  check: z.RefinementCtx,
): void {
  if (itemVariable === indexVariable)
    check.addIssue({ code: 'custom', path: ['indexVariable'], message: 'must differ from itemVariable' });
}
