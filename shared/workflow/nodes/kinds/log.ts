import { z } from 'zod';
import { Json } from '../../../core/json.ts';
import { namedEnum } from '../../../core/schema/enum-names.ts';
import { working } from '../common.ts';
import { defineNode } from '../define-node.ts';

export const LogLevel = namedEnum({ debug: 'Debug', info: 'Info', warn: 'Warning', error: 'Error' });
export type LogLevel = z.infer<typeof LogLevel>;

/** Writes a line into the log of the run. The line is also the output of the node, which later nodes do not see. */
export const log = defineNode({
  kind: 'log',
  label: 'Log',
  config: z.object({
    ...working,
    level: LogLevel.default('info').meta({
      title: 'Level',
      description: 'How important the line is; the log can be filtered by it',
    }),
    message: Json.meta({ title: 'Message', description: 'Text of the line; other values are written as JSON' }),
    data: Json.optional().meta({
      title: 'Data',
      description: 'Values that belong to the line',
      contentMediaType: 'application/json',
    }),
  }),
  names: {},
  exits: ['output', 'error'],
  usualExit: 'output',
  pure: true,
  clocked: false,
  timeoutSeconds: 60,
  defaultValue: { title: 'Log', level: 'info', message: 'Order {{ctx.input.orderID}} received' },
});
