import { z } from 'zod';
import { JsonObject } from '../../../core/json.ts';
import { idOf, inputsOf } from '../../../core/schema/reference.ts';
import { OutputVariable, working } from '../common.ts';
import { defineNode } from '../define-node.ts';

/** Runs a stored data query; its result is the node's value. */
export const dataQuery = defineNode({
  kind: 'dataQuery',
  label: 'Query',
  config: z.object({
    ...working,
    dataQueryID: idOf('dataQuery').meta({ title: 'Query', description: 'The query to run' }),
    inputValues: inputsOf(JsonObject.default({}), 'dataQueryID').meta({
      title: 'Inputs',
      description: 'What the query is given',
    }),
    exactlyOnce: z.boolean().default(false).meta({
      title: 'Exactly once',
      description:
        'A repeated attempt changes nothing, and gets the result of the first: a receipt is written with the changes. For PostgreSQL, MySQL and the database of the tenant',
    }),
    outputVariable: OutputVariable('queryResult'),
  }),
  names: { dataQueryID: { permission: 'dataquery.execute', neededBy: 'author' } },
  exits: ['success', 'error'],
  usualExit: 'success',
  pure: false,
  clocked: true,
  templated: ['inputValues.*'],
  links: ['inputValues'],
  timeoutSeconds: 120,
  defaultValue: { title: 'Query', dataQueryID: '00000000-0000-4000-8000-000000000000' },
});
