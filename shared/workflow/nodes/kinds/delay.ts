import { z } from 'zod';
import { waiting } from '../common.ts';
import { defineNode } from '../define-node.ts';

/** Waits: a fixed time, a number of milliseconds from a template, or until a moment. At most 24 hours. */
export const delay = defineNode({
  kind: 'delay',
  label: 'Delay',
  config: z
    .object({
      ...waiting,
      delayType: z.enum(['fixed', 'dynamic', 'until']).default('fixed').meta({
        title: 'Type',
        description: 'A fixed time, a number of milliseconds from a template, or until a moment',
      }),
      delayMinutes: z
        .number()
        .min(0)
        .max(1440)
        .default(0)
        .meta({ title: 'Minutes', description: 'Of a fixed time; added to the seconds and milliseconds' }),
      delaySeconds: z.number().min(0).max(59).default(0).meta({ title: 'Seconds', description: 'Of a fixed time' }),
      delayMs: z.number().min(0).max(999).default(0).meta({ title: 'Milliseconds', description: 'Of a fixed time' }),
      delayVariable: z
        .union([z.string(), z.number()])
        .optional()
        .meta({ title: 'Milliseconds from a template', description: 'For the type `dynamic`' }),
      untilTime: z
        .string()
        .optional()
        .meta({ title: 'Until', description: 'A moment in ISO 8601, or a template, for the type `until`' }),
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
