import { z } from 'zod';

/** A name that templates and code can write behind a dot: `ctx.queryResult`. */
export const Identifier = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must start with a letter or underscore, then letters, digits or underscores');

export const ErrorHandling = z.enum([
  'fail_workflow',
  'continue',
  'continue_default',
  'skip_item',
  'retry_then_fail',
  'retry_then_continue',
]);

/** Shared by every kind. */
export const described = {
  title: z.string().max(255).optional(),
  description: z.string().optional(),
  isDisabled: z.boolean().default(false),
  joinMode: z.enum(['all', 'any']).default('all'),
};

/** Shared by kinds that do work: how long, how often, and what an error does. Seconds throughout. */
export const working = {
  ...described,
  timeoutSeconds: z.number().min(1).max(3600).optional(),
  retryLimit: z.int().min(0).max(10).optional(),
  retryDelaySeconds: z.number().min(0).max(300).optional(),
  /** Absent: the `error` exit when something is connected to it, else the run fails. */
  errorHandling: ErrorHandling.optional(),
};
