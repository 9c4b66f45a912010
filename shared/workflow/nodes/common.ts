import { z } from 'zod';
import { namedEnum } from '../../core/schema/enum-names.ts';
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
      description:
        name === 'item'
          ? 'Steps inside read the item by this name: `{{ctx.item}}`'
          : 'Steps inside read its number, from 0, by this name: `{{ctx.index}}`',
    });
}

export const ErrorHandling = namedEnum({
  fail_workflow: 'Fail the run',
  continue: 'Go on without a result',
  continue_default: 'Go on with an empty result',
  skip_item: 'Skip it, and go on without a result',
  retry_then_fail: 'Fail the run, after the retries',
  retry_then_continue: 'Go on without a result, after the retries',
});

/**
 * Classes of errors that may be temporary. `timeout`: the node or the server took too long. `upstream`: the server failed, refused for now or
 * could not be reached. `code`: the node's own failure, such as an exception in its code.
 */
export const RetryClass = namedEnum({
  timeout: 'It took too long',
  upstream: 'Another system failed, or could not be reached',
  code: 'The step itself failed',
});
export type RetryClass = z.infer<typeof RetryClass>;

/** Fields of every kind. */
export const described = {
  title: z.string().max(255).optional().meta({ title: 'Title', description: 'Its name on the canvas and in runs' }),
  description: z
    .string()
    .optional()
    .meta({ title: 'Description', description: 'A note for those who read the workflow' }),
  isDisabled: z.boolean().default(false).meta({
    title: 'Disabled',
    description: 'The step is skipped: the run goes on by its usual exit, without a result',
  }),
  joinMode: namedEnum({ all: 'All ways that may still be taken', any: 'The first way that is taken' })
    .default('all')
    .meta({ title: 'Waits for', description: 'Where several ways lead here' }),
};

/** Fields of kinds that do work: time limit, retries and error handling. Times are in seconds. */
export const working = {
  ...described,
  timeoutSeconds: z.number().min(1).max(3600).optional().meta({
    title: 'Time limit (s)',
    description: 'An attempt that takes longer fails. Empty: as the workflow says, else as usual for the kind',
  }),
  retryLimit: z.int().min(0).max(10).optional().meta({
    title: 'Retries',
    description: 'How often a failed attempt is repeated, if its error may be temporary. Empty: as the workflow says',
  }),
  retryDelaySeconds: z.number().min(0).max(300).optional().meta({
    title: 'Pause before a retry (s)',
    description: 'It doubles with every failed attempt, up to five minutes. Empty: as the workflow says, else 5',
  }),
  retryOn: z.array(RetryClass).min(1).optional().meta({
    title: 'Errors to retry',
    description: 'Empty: as the workflow says, else every error that may be temporary',
  }),
  errorHandling: ErrorHandling.optional().meta({
    title: 'After an error',
    description:
      'Empty: the run goes on by the exit `error` if something is connected to it, else it fails. Steps behind read the error as `{{ctx.error}}`',
  }),
};

/** Fields of kinds that park while they wait: for a time, a person, an event or another run. */
export const waiting = {
  ...working,
  timeoutSeconds: working.timeoutSeconds.meta({
    title: 'Time limit (s)',
    description: 'Without effect here: a wait counts against the time limit of the run alone',
    deprecated: true,
  }),
};

/** The fields that all kinds share, but those in groups. */
export const sharedNames = ['title', 'description'];

export const sharedGroups = [
  {
    label: TIME_AND_ERRORS,
    fields: ['timeoutSeconds', 'retryLimit', 'retryDelaySeconds', 'retryOn', 'errorHandling'],
  },
  { label: 'Flow', fields: ['isDisabled', 'joinMode'] },
];

/** How a form groups the fields that kinds share, behind the kind's own: a step is opened to say what it does. What a person is asked comes first. */
export const sharedFields = ({ asks = false }: { asks?: boolean }) => ({
  ...(asks ? { first: sharedNames } : { last: sharedNames }),
  groups: sharedGroups,
});

/** The field with the key of `ctx` under which later nodes find the value of a node. */
export function OutputVariable(name: string) {
  return Identifier.default(name).meta({
    title: 'Result name',
    description: `Other steps read the result by this name: \`{{ctx.${name}}}\``,
  });
}
