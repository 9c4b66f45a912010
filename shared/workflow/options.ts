import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import { looseObject } from '../core/record.ts';
import { readBy } from '../core/schema/walk.ts';
import { Duration, parseDuration } from './duration.ts';
import type { GraphNode } from './graph/graph.ts';
import { InputDefinition } from './inputs.ts';
import { governance } from './limits.ts';
import { ErrorHandling, RetryClass } from './nodes/common.ts';
import type { NodeDefinition } from './nodes/define-node.ts';

const timeoutSeconds = z.int().min(1).max(3600).optional();
const retryLimit = z.int().min(0).max(10).optional();
const retryDelaySeconds = z.number().min(0).max(300).optional();

const retryOn = z.array(RetryClass).min(1).optional();

const ofKind = { timeoutSeconds, retryLimit, retryDelaySeconds, retryOn };
const knownOfKind = z.object(ofKind);
const NodeDefaults = readBy(looseObject(ofKind).meta({ id: 'NodeDefaults' }), () => knownOfKind);

const CanvasNote = looseObject({
  id: z.string().min(1).max(255),
  text: z.string().max(10_000),
  position: z.object({ x: z.number(), y: z.number() }).meta({ id: 'CanvasPosition' }),
  width: z.number().positive().optional(),
  height: z.number().positive().optional(),
}).meta({ id: 'CanvasNote' });

/** The part of the options that only editors read: no run depends on it, and it is no difference between versions. */
const CanvasOptions = looseObject({
  notes: z.array(CanvasNote).max(500).optional().describe('Texts beside the nodes, for readers'),
}).meta({ id: 'CanvasOptions' });

const fields = {
  inputDefinitions: z
    .array(InputDefinition.meta({ id: 'InputDefinition' }))
    .default([])
    .refine((list) => new Set(list.map(({ key }) => key)).size === list.length, { message: 'keys must be unique' }),
  workflowRunTimeout: Duration.optional(),
  workflowTaskTimeout: Duration.optional().describe(
    'Accepted, and without effect: no step of the engine itself has a limit',
  ),
  humanInLoopTimeout: Duration.optional().describe(
    'How long a question waits for its answer whose node has no `expiryMinutes`; an hour without it',
  ),
  defaultNodeTimeoutSeconds: timeoutSeconds,
  defaultRetryLimit: retryLimit,
  defaultRetryDelaySeconds: retryDelaySeconds,
  defaultRetryOn: retryOn,
  /** `node`: every outcome is committed before the next node begins. `effect`: pure nodes are committed with the outcome before them. */
  durability: z.enum(['node', 'effect']).default('effect'),
  nodeDefaults: z.record(z.string(), NodeDefaults).default({}),
  canvas: CanvasOptions.optional().describe(
    'How editors draw the graph, beside the `position` of its nodes; without effect on runs, and no part of differences between versions',
  ),
  ...governance,
};

const known = z.object(fields);

/** Options of a workflow for all its nodes. Unknown keys are kept for the editor; nothing else reads them. */
export const WorkflowOptions = readBy(looseObject(fields), () => known);
export type WorkflowOptions = z.infer<typeof WorkflowOptions>;

const sevenDays = '7 days';

export function runTimeoutMs(options: WorkflowOptions): number {
  return parseDuration(options.workflowRunTimeout ?? sevenDays);
}

/** A time limit of a run. */
export interface RunTimeLimit {
  ms: number;
  /** Name of the setting with the limit, for errors. */
  setBy: string;
}

export function runTimeLimit(options: WorkflowOptions): RunTimeLimit {
  const isDefault = options.workflowRunTimeout === undefined;
  const setBy = '`workflowRunTimeout` of its workflow';
  return { ms: runTimeoutMs(options), setBy: isDefault ? `the default of ${setBy}` : setBy };
}

export interface NodePolicy {
  timeoutMs: number;
  /** Name of the setting with the time limit, for errors. */
  timeoutSetBy: string;
  /** Attempts after the first. */
  retryLimit: number;
  retryDelayMs: number;
  /** Undefined: every error that may be temporary. */
  retryOn: readonly RetryClass[] | undefined;
  /**
   * Error handling of the node's own failure. Undefined: the node leaves by the `error` exit if it is connected, otherwise the run fails. For a node
   * that repeats a body, `continue` and `skip_item` speak of its items, so they are not the policy for a node that cannot begin or end.
   */
  errorHandling: ErrorPolicy;
  /** Error handling of a map that fails by its failed items. The same as `errorHandling` for other kinds, which do not fail in this way. */
  afterFailedItems: ErrorPolicy;
}

type ErrorPolicy = z.infer<typeof ErrorHandling> | undefined;

/** Timeout, retries and error handling: from the node, else from the workflow for its kind or for all kinds, else defaults. */
export function nodePolicy(node: GraphNode, options: WorkflowOptions): NodePolicy {
  const own = isJsonObject(node.config) ? node.config : {};
  const { kind: name } = node.definition;
  const kind = Object.hasOwn(options.nodeDefaults, name) ? options.nodeDefaults[name] : undefined;
  const retries = kind?.retryLimit ?? options.defaultRetryLimit;
  const delay = numeric(own.retryDelaySeconds) ?? kind?.retryDelaySeconds ?? options.defaultRetryDelaySeconds;
  return {
    ...timeLimitOf(node, own, options),
    retryLimit: numeric(own.retryLimit) ?? (goesOnAtOnce.has(String(own.errorHandling)) ? 0 : retries) ?? 0,
    retryDelayMs: (delay ?? 5) * 1_000,
    retryOn: z.array(RetryClass).safeParse(own.retryOn).data ?? kind?.retryOn ?? options.defaultRetryOn,
    ...errorPolicyOf(node, own),
  };
}

/** Error handling that lets the run go on after the first failure, unless the node itself has a `retryLimit`. */
const goesOnAtOnce: ReadonlySet<string> = new Set(['continue', 'continue_default', 'skip_item']);

function timeLimitOf(
  { definition: { kind, timeoutSeconds: usual } }: GraphNode,
  own: JsonObject,
  { nodeDefaults, defaultNodeTimeoutSeconds: ofAll }: WorkflowOptions,
): Pick<NodePolicy, 'timeoutMs' | 'timeoutSetBy'> {
  const limit = (seconds: number, timeoutSetBy: string) => ({ timeoutMs: seconds * 1_000, timeoutSetBy });
  const ofNode = numeric(own.timeoutSeconds);
  if (ofNode !== undefined) return limit(ofNode, '`timeoutSeconds` of the node');
  const ofKind = Object.hasOwn(nodeDefaults, kind) ? nodeDefaults[kind]?.timeoutSeconds : undefined;
  if (ofKind !== undefined) return limit(ofKind, `\`nodeDefaults.${kind}.timeoutSeconds\` of the workflow`);
  if (ofAll !== undefined) return limit(ofAll, '`defaultNodeTimeoutSeconds` of the workflow');
  return limit(usual, `the default of ${kind} nodes; \`timeoutSeconds\` of the node changes it`);
}

function errorPolicyOf(
  { definition }: GraphNode,
  own: JsonObject,
): Pick<NodePolicy, 'errorHandling' | 'afterFailedItems'> {
  const { body, chunked }: NodeDefinition = definition;
  const chosen = ErrorHandling.options.find((option) => option === own.errorHandling);
  const ofNode = body === undefined || chosen === 'fail_workflow' ? chosen : undefined;
  return { errorHandling: ofNode, afterFailedItems: chunked ? chosen : ofNode };
}

/** The config of a node that asks a person: with the workflow's time to answer, unless the node has its own `expiryMinutes`. */
export function withTimeToAnswer({ definition, data }: GraphNode, options: WorkflowOptions, config: unknown): unknown {
  const { humanInLoopTimeout } = options;
  if (!definition.asks || humanInLoopTimeout === undefined || data.expiryMinutes !== undefined) return config;
  return { ...(config as object), expiryMinutes: parseDuration(humanInLoopTimeout) / 60_000 };
}

/** The value if it is a number: a saved config may have a template in its place. */
function numeric(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
