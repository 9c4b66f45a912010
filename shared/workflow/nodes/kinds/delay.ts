import { z } from 'zod';
import { namedEnum } from '../../../core/schema/enum-names.ts';
import { waiting } from '../common.ts';
import { defineNode } from '../define-node.ts';

/** Waits: a fixed time, a number of milliseconds from a template, or until a moment. At most 24 hours. */
export const delay = defineNode({
  kind: 'delay',
  label: 'Delay',
  config: z
    .object({
      ...waiting,
      delayType: namedEnum({ fixed: 'A fixed time', dynamic: 'A time that is computed', until: 'Until a moment' })
        .default('fixed')
        .meta({ title: 'Waits', description: 'At most 24 hours' }),
      delayMinutes: z
        .number()
        .min(0)
        .max(1440)
        .default(0)
        .meta({ title: 'Minutes', description: 'Of a fixed time, with the seconds below' }),
      delaySeconds: z.number().min(0).max(59).default(0).meta({ title: 'Seconds', description: 'Of a fixed time' }),
      delayMs: z.number().min(0).max(999).default(0).meta({ title: 'Milliseconds', description: 'Of a fixed time' }),
      delayVariable: z.union([z.string(), z.number()]).optional().meta({
        title: 'Computed milliseconds',
        description: 'Of a time that is computed, such as `{{ctx.input.milliseconds}}`',
      }),
      untilTime: z.string().optional().meta({
        title: 'Until',
        description: 'A moment, such as 2026-01-31T09:00:00Z, or an expression that gives one',
      }),
    })
    .refine((c) => c.delayMinutes * 60 + c.delaySeconds + c.delayMs / 1000 <= 86_400, {
      path: ['delayMinutes'],
      message: 'a delay is at most 24 hours in all',
    })
    .refine((c) => c.delayType !== 'dynamic' || c.delayVariable !== undefined, {
      path: ['delayVariable'],
      message: 'is required when delayType is "dynamic"',
    })
    .refine((c) => c.delayType !== 'until' || c.untilTime !== undefined, {
      path: ['untilTime'],
      message: 'is required when delayType is "until"',
    }),
  names: {},
  exits: ['output', 'error'],
  usualExit: 'output',
  pure: false,
  clocked: false,
  templated: ['delayVariable', 'untilTime'],
  timeoutSeconds: 60,
  defaultValue: { title: 'Delay', delayType: 'fixed', delaySeconds: 5 },
});
