import { z } from 'zod';
import { AppError } from '../errors.ts';
import { isJsonObject } from '../json.ts';
import { ErrorHandling } from '../nodes/common.ts';
import { readBy } from '../schema-walk.ts';
import type { GraphNode } from './graph.ts';
import { InputDefinition } from './inputs.ts';
import { governance } from './limits.ts';

const durationHint = 'must be seconds, or a text such as "30 s", "2h" or "7 days", above 0 and at most 3650 days';

/** Seconds, or a text with a unit. */
const Duration = z
  .union([z.number(), z.string()], { error: durationHint })
  .refine((value) => toMs(value) !== undefined, { message: durationHint });

const timeoutSeconds = z.int().min(1).max(3600).optional();
const retryLimit = z.int().min(0).max(10).optional();
const retryDelaySeconds = z.number().min(0).max(300).optional();

const ofKind = { timeoutSeconds, retryLimit, retryDelaySeconds };
const knownOfKind = z.object(ofKind);
const NodeDefaults = readBy(z.looseObject(ofKind).meta({ id: 'NodeDefaults' }), () => knownOfKind);

const fields = {
  inputDefinitions: z
    .array(InputDefinition.meta({ id: 'InputDefinition' }))
    .default([])
    .refine((list) => new Set(list.map(({ key }) => key)).size === list.length, { message: 'keys must be unique' }),
  workflowRunTimeout: Duration.optional(),
  workflowTaskTimeout: Duration.optional(),
  humanInLoopTimeout: Duration.optional(),
  defaultNodeTimeoutSeconds: timeoutSeconds,
  defaultRetryLimit: retryLimit,
  defaultRetryDelaySeconds: retryDelaySeconds,
  /** `node`: every outcome is committed before the next node begins. `effect`: pure nodes are committed with the outcome before them. */
  durability: z.enum(['node', 'effect']).default('effect'),
  nodeDefaults: z.record(z.string(), NodeDefaults).default({}),
  ...governance,
};

const known = z.object(fields);

/** Options of a workflow for all its nodes. Unknown keys are kept for the editor; nothing else reads them. */
export const WorkflowOptions = readBy(z.looseObject(fields), () => known);
export type WorkflowOptions = z.infer<typeof WorkflowOptions>;

const sevenDays = '7 days';

export function runTimeoutMs(options: WorkflowOptions): number {
  return parseDuration(options.workflowRunTimeout ?? sevenDays);
}

/** Converts a duration to milliseconds. */
export function parseDuration(value: number | string): number {
  const ms = toMs(value);
  if (ms === undefined)
    throw new AppError('VALIDATION_ERROR', `${JSON.stringify(value)} is not a duration: it ${durationHint}`);
  return ms;
}

const unitMs: ReadonlyMap<string, number> = new Map([
  ['', 1_000],
  ...named(1, 'ms', 'millisecond', 'milliseconds'),
  ...named(1_000, 's', 'sec', 'secs', 'second', 'seconds'),
  ...named(60_000, 'm', 'min', 'mins', 'minute', 'minutes'),
  ...named(3_600_000, 'h', 'hr', 'hrs', 'hour', 'hours'),
  ...named(86_400_000, 'd', 'day', 'days'),
  ...named(604_800_000, 'w', 'week', 'weeks'),
]);

function named(ms: number, ...names: string[]): [string, number][] {
  return names.map((name) => [name, ms]);
}

// A deadline must be a valid date in JavaScript and in Postgres.
const maxMs = 3_650 * 86_400_000;

function toMs(value: number | string): number | undefined {
  const [, amount, unit] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(String(value)) ?? [];
  const factor = unit === undefined ? undefined : unitMs.get(unit.toLowerCase());
  if (amount === undefined || factor === undefined) return undefined;
  const ms = Math.round(Number(amount) * factor);
  return ms > 0 && ms <= maxMs ? ms : undefined;
}

export interface NodePolicy {
  timeoutMs: number;
  /** Attempts after the first. */
  retryLimit: number;
  retryDelayMs: number;
  /** Undefined: the node leaves by the `error` exit if it is connected, otherwise the run fails. */
  errorHandling: z.infer<typeof ErrorHandling> | undefined;
}

/** Timeout, retries and error handling: from the node, else from the workflow for its kind or for all kinds, else defaults. */
export function nodePolicy(node: GraphNode, options: WorkflowOptions): NodePolicy {
  const own = isJsonObject(node.config) ? node.config : {};
  const { kind: name } = node.definition;
  const kind = Object.hasOwn(options.nodeDefaults, name) ? options.nodeDefaults[name] : undefined;
  const timeout = numeric(own.timeoutSeconds) ?? kind?.timeoutSeconds ?? options.defaultNodeTimeoutSeconds;
  const delay = numeric(own.retryDelaySeconds) ?? kind?.retryDelaySeconds ?? options.defaultRetryDelaySeconds;
  return {
    timeoutMs: (timeout ?? node.definition.timeoutSeconds) * 1_000,
    retryLimit: numeric(own.retryLimit) ?? kind?.retryLimit ?? options.defaultRetryLimit ?? 0,
    retryDelayMs: (delay ?? 5) * 1_000,
    errorHandling: ErrorHandling.options.find((option) => option === own.errorHandling),
  };
}

function numeric(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
