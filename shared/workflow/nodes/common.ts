import { z } from 'zod';
import { TIME_AND_ERRORS } from '../../core/schema/form-groups.ts';
import { isReservedKey } from '../reserved.ts';

/** A name that templates and code can write behind a dot: `ctx.queryResult`. */
export const Identifier = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must start with a letter or underscore, then letters, digits or underscores');

/** The field with the key of `ctx` under which the nodes of a body find the item or the index. */
export function IterationVariable(name: 'item' | 'index') {
  return Identifier.refine((key) => key === 'item' || key === 'index' || !isReservedKey(key), {
    error: 'is a reserved name',
  })
    .default(name)
    .meta({
      title: name === 'item' ? 'Name of the item' : 'Name of the index',
      description: 'A key of `ctx` inside of the body',
    });
}

export const ErrorHandling = z.enum([
  'fail_workflow',
  'continue',
  'continue_default',
  'skip_item',
  'retry_then_fail',
  'retry_then_continue',
]);

/**
 * Classes of errors that may be temporary. `timeout`: the node or the server took too long. `upstream`: the server failed, refused for now or
 * could not be reached. `code`: the node's own failure, such as an exception in its code.
 */
export const RetryClass = z.enum(['timeout', 'upstream', 'code']);
export type RetryClass = z.infer<typeof RetryClass>;

/** Fields of every kind. */
export const described = {
  title: z.string().max(255).optional().meta({ title: 'Title', description: 'Name of the node in the editor' }),
  description: z
    .string()
    .optional()
    .meta({ title: 'Description', description: 'A note for readers of the workflow; it has no effect' }),
  isDisabled: z.boolean().default(false).meta({
    title: 'Disabled',
    description: 'The node does nothing, and the run goes on by its usual exit',
  }),
  joinMode: z.enum(['all', 'any']).default('all').meta({
    title: 'Waits for',
    description:
      'Where several edges lead to the node: `all` waits until no edge can still be taken, `any` begins with the first that is',
  }),
};

/** Fields of kinds that do work: time limit, retries and error handling. Times are in seconds. */
export const working = {
  ...described,
  timeoutSeconds: z
    .number()
    .min(1)
    .max(3600)
    .optional()
    .meta({ title: 'Time limit (s)', description: 'Of one attempt; otherwise that of the workflow or of the kind' }),
  retryLimit: z
    .int()
    .min(0)
    .max(10)
    .optional()
    .meta({ title: 'Retries', description: 'How often a failed attempt is repeated, if its error may pass' }),
  retryDelaySeconds: z.number().min(0).max(300).optional().meta({
    title: 'Pause before a retry (s)',
    description: 'Doubles with every failed attempt, up to five minutes',
  }),
  retryOn: z
    .array(RetryClass)
    .min(1)
    .optional()
    .meta({ title: 'Errors to retry', description: 'Without a choice: every error that may pass' }),
  errorHandling: ErrorHandling.optional().meta({
    title: 'After an error',
    description:
      'Without a choice: the `error` exit if something is connected to it, else the run fails. Nodes behind it read the error as `{{ctx.error}}`',
  }),
};

/** Fields of kinds that park while they wait: for a time, a person, an event or another run. */
export const waiting = {
  ...working,
  timeoutSeconds: working.timeoutSeconds.meta({
    title: 'Time limit (s)',
    description: 'Without effect here: a wait counts against the time limit of the run alone',
  }),
};

/** How a form groups the fields that kinds share, after the kind's own. */
export const sharedFields = {
  first: ['title', 'description'],
  groups: [
    {
      label: TIME_AND_ERRORS,
      fields: ['timeoutSeconds', 'retryLimit', 'retryDelaySeconds', 'retryOn', 'errorHandling'],
    },
    { label: 'Flow', fields: ['isDisabled', 'joinMode'] },
  ],
} as const;

/** The field with the key of `ctx` under which later nodes find the value of a node. */
export function OutputVariable(name: string) {
  return Identifier.default(name).meta({
    title: 'Result name',
    description: 'Later nodes read the result under this name: `{{ctx.name}}`',
  });
}
