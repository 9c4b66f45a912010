import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Caller } from '../core/caller.ts';
import type { JsonObject } from '../core/json.ts';
import { quote } from '../core/quote.ts';
import type { Issue } from '../core/schema/issues.ts';
import { idOf } from '../core/schema/reference.ts';
import { Duration, parseDuration } from './duration.ts';
import { asText, evaluate, expressionsOf, faultsOf, shownSource } from './templates/expressions.ts';
import { fillParts, findTemplate } from './templates/templates.ts';

export const RunClass = z.enum(['interactive', 'webhook', 'cron', 'batch']);
export type RunClass = z.infer<typeof RunClass>;

/** Seconds of head start over other runs of the same workflow and class. */
export const Priority = z.int().min(0).max(3_600);

const PERIODS = { second: 1, minute: 60, hour: 3_600, day: 86_400 } as const;

const ConcurrencyLimit = z
  .object({
    key: z
      .string()
      .min(1)
      .superRefine((key, check) => {
        const [message] = faultsOf(findTemplate(key), 'ctx');
        if (message !== undefined) check.addIssue({ code: 'custom', message });
      })
      .describe('A text with templates over the input, such as `{{ctx.input.customer}}`'),
    limit: z.int().min(1),
    onLimit: z
      .enum(['queue', 'drop', 'cancel-old', 'fail'])
      .default('queue')
      .describe('What becomes of a further run. `cancel-old`: it takes the place of the oldest'),
    scope: z
      .enum(['workflow', 'tenant'])
      .default('workflow')
      .describe('Whether runs of other workflows count that have the same key'),
  })
  .meta({ id: 'ConcurrencyLimit' });

const RateLimit = z
  .object({
    limit: z.int().min(1).max(1_000),
    per: z.enum(['second', 'minute', 'hour', 'day']),
  })
  .meta({ id: 'RateLimit', description: 'At most `limit` runs of the workflow begin in any such time' });

const OnFailure = z
  .object({ workflowID: idOf('workflow') })
  .meta({ id: 'OnFailure', description: 'The workflow that is started with the error of a failed run' });

/** The states in which a run has ended. */
const END_STATES = ['COMPLETED', 'FAILED', 'CANCELLED'] as const;

const CompletionWebhook = z
  .object({
    url: z
      .string()
      .max(2_000)
      .superRefine((text, check) => {
        const url = URL.parse(text);
        const isUsable = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
        if (!isUsable)
          check.addIssue({
            code: 'custom',
            message: 'must be an address that begins with http:// or https://, without a user or a password',
          });
      }),
    secret: z
      .string()
      .min(1)
      .max(64)
      .describe('The name of a secret variable of the tenant: `whsec_` and 24 to 64 bytes in base64'),
    on: z
      .array(z.enum(END_STATES))
      .min(1)
      .default([...END_STATES])
      .describe('The ends that are told'),
    includeOutput: z.boolean().default(true).describe('Whether the output of the run is sent, up to 64 kB'),
  })
  .meta({ id: 'CompletionWebhook', description: 'The receiver that is told when a run has ended' });
export type CompletionWebhook = z.infer<typeof CompletionWebhook>;

/** Options that say when runs of a workflow may begin, and what follows them. */
export const governance = {
  /** At most `limit` runs whose `key` has the same value, from their beginning to their end, waits included. */
  concurrency: ConcurrencyLimit.optional(),
  /** Runs of the workflow that workers own at once; those that wait for a time, an answer or a child are not counted. */
  maxRunsAtOnce: z.int().min(1).max(10_000).optional(),
  rate: RateLimit.optional(),
  /** How long a run may wait for its beginning. With it, `workflowRunTimeout` counts from the beginning, else from the acceptance. */
  queueTimeout: Duration.optional(),
  priority: Priority.optional(),
  class: RunClass.optional(),
  onFailure: OnFailure.optional(),
  completionWebhook: CompletionWebhook.optional(),
};

const Governance = z.object(governance);
export type Governance = z.infer<typeof Governance>;

/** The part of the options that says when a run may begin, and what follows it. */
export function governanceOf(options: Governance): Governance {
  const {
    concurrency,
    maxRunsAtOnce,
    rate,
    queueTimeout,
    priority,
    class: kind,
    onFailure,
    completionWebhook,
  } = options;
  return { concurrency, maxRunsAtOnce, rate, queueTimeout, priority, class: kind, onFailure, completionWebhook };
}

/** Settings by which a request overrides the options. */
type Asked = Pick<Governance, 'class' | 'priority'>;

interface Begun {
  workflowID: string;
  caller: Pick<Caller, 'type' | 'origin'>;
  input: JsonObject;
  /** Absent: the request overrides nothing. */
  asked?: Asked;
}

/** The class, priority, limits and follow-ups of a run with this input. Settings of the request override the options of the workflow. */
export function governRun(options: Governance, { workflowID, caller, input, asked = {} }: Begun) {
  const priority = asked.priority ?? options.priority;
  return {
    class: asked.class ?? options.class ?? classOf(caller),
    ...(priority !== undefined && { priority }),
    ...(options.queueTimeout !== undefined && { queueTimeoutMs: parseDuration(options.queueTimeout) }),
    ...(options.onFailure && { onFailure: options.onFailure.workflowID }),
    ...(options.completionWebhook && { completionWebhook: options.completionWebhook }),
    limits: limitsOf(options, { workflowID, input }),
  };
}

/** Limits that a run has from the version of its workflow. */
export interface RunLimits {
  /** Runs of the workflow at once. */
  runs?: number;
  rate?: { limit: number; seconds: number };
  key?: { value: string; limit: number; onLimit: 'queue' | 'drop' | 'cancel-old' | 'fail' };
}

/** Limits of a run with this input; undefined if it has none. */
export function limitsOf(
  { concurrency, maxRunsAtOnce: runs, rate }: Governance,
  { workflowID, input }: { workflowID: string; input: JsonObject },
): RunLimits | undefined {
  if (!concurrency && runs === undefined && !rate) return undefined;
  return {
    ...(runs !== undefined && { runs }),
    ...(rate && { rate: { limit: rate.limit, seconds: PERIODS[rate.per] } }),
    ...(concurrency && {
      key: {
        value: `${concurrency.scope === 'workflow' ? workflowID : ''}:${fillKey(concurrency.key, input)}`,
        limit: concurrency.limit,
        onLimit: concurrency.onLimit,
      },
    }),
  };
}

/** Faults of a concurrency key: templates that can have no value in any run, so that all runs would share one key. */
export function keyIssues(key: string, definitions: readonly { key: string }[]): Issue[] {
  const declared = new Set(definitions.map((definition) => definition.key));
  const messages = [...expressionsOf(findTemplate(key))].flatMap(({ source, keys: [first, name] }) => {
    if (first !== undefined && first !== 'input')
      return [`${shownSource(source)} must begin with ctx.input: the key is known before the run begins`];
    const isUnknown = declared.size > 0 && name !== undefined && !declared.has(String(name));
    return isUnknown ? [`there is no input ${quote(String(name))}`] : [];
  });
  return messages.slice(0, 1).map((message) => ({ path: [], message }));
}

/** Characters of a key, which is indexed. A longer key is cut, and ends with its hash. */
const MAX_KEY = 255;

function fillKey(text: string, input: JsonObject): string {
  const { parts } = findTemplate(text) ?? { parts: [text] };
  const key = fillParts(parts, (expression) => evaluate(expression, { input }, 'ctx'), asText);
  if (key.length <= MAX_KEY) return key;
  // A space and the 64 digits of the hash take 65 characters.
  return `${key.slice(0, MAX_KEY - 65).toWellFormed()} ${createHash('sha256').update(key).digest('hex')}`;
}

/** The class of a run whose request and workflow name none. */
function classOf({ type, origin }: Pick<Caller, 'type' | 'origin'>): RunClass {
  if (origin === 'cron') return 'cron';
  if (origin === 'listener') return 'webhook';
  return type === 'apiKey' ? 'batch' : 'interactive';
}
