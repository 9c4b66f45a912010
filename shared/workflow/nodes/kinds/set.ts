import { z } from 'zod';
import { Json } from '../../../core/json.ts';
import { isReservedKey } from '../../reserved.ts';
import { Identifier, OutputVariable, working } from '../common.ts';
import { defineNode } from '../define-node.ts';

const Assignment = z.object({
  name: Identifier.refine((name) => !isReservedKey(name), { message: 'is a reserved name' }).meta({
    title: 'Name',
    description: 'Other steps read the value by it: `{{ctx.name}}`',
  }),
  value: Json.default(null).meta({ title: 'Value', description: 'Any value; expressions in it are computed' }),
});

/** Puts values into `ctx`, each under its own name, and all of them under `outputVariable`. */
export const set = defineNode({
  kind: 'set',
  label: 'Set values',
  config: z
    .object({
      ...working,
      assignments: z
        .array(Assignment)
        .min(1)
        .max(100)
        .meta({ title: 'Values', description: 'Each with a name of its own' }),
      outputVariable: OutputVariable('values'),
    })
    .refine(({ assignments }) => new Set(assignments.map(({ name }) => name)).size === assignments.length, {
      path: ['assignments'],
      message: 'names must be unique',
    })
    .refine(({ assignments, outputVariable }) => assignments.every(({ name }) => name !== outputVariable), {
      path: ['outputVariable'],
      message: 'must differ from the names of the values',
    }),
  names: {},
  exits: ['output', 'error'],
  usualExit: 'output',
  pure: true,
  clocked: false,
  spreads: () => true,
  timeoutSeconds: 60,
  defaultValue: { title: 'Set values', assignments: [{ name: 'customer', value: '{{ctx.input.customer}}' }] },
});
