import { z } from 'zod';
import { Json } from '../json.ts';
import { working } from './common.ts';
import { defineNode } from './define-node.ts';

/** Writes a line into the run's timeline: its output, which later nodes do not see. */
export const log = defineNode({
  kind: 'log',
  label: 'Log',
  config: z.object({
    ...working,
    level: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
    message: Json,
    data: Json.optional(),
  }),
  names: {},
  exits: ['output', 'error'],
  usualExit: 'output',
  pure: true,
  clocked: false,
  timeoutSeconds: 60,
  defaultValue: { title: 'Log', level: 'info', message: 'Order {{ctx.input.orderID}} received' },
});
