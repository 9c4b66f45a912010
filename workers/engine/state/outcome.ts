import { AppError, type ErrorCode, isErrorCode } from '#shared/core/errors.ts';
import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import type { GraphNode } from '#shared/workflow/graph/graph.ts';
import type { RetryClass } from '#shared/workflow/nodes/common.ts';
import { failedExitOf, needsEdge } from '#shared/workflow/nodes/properties.ts';
import type { NodePolicy } from '#shared/workflow/options.ts';
import type { ErrorCause, ShownError } from '#shared/workflow/run-error.ts';

/** Characters of details and of causes that are stored with an outcome. */
const MAX_DETAILS = 4_000;
/** The longest pause before a retry: a day, as for a delay. If the Retry-After of a server asks for more, the node is not retried. */
export const LONGEST_PAUSE_MS = 86_400_000;

/** The error of an attempt as it is stored, with `details.cause` as a field of its own. Long details and causes are left out. */
export function shownError({ code, message, details: all }: AppError): ShownError {
  const { cause, ...details } = isJsonObject(all) ? all : {};
  const isShort = (value: unknown) => JSON.stringify(value).length <= MAX_DETAILS;
  return {
    code,
    message,
    ...(Object.keys(details).length > 0 && isShort(details) && { details }),
    // The cast is safe: `causedBy` has made the cause.
    ...(isJsonObject(cause) && isShort(cause) && { cause: cause as unknown as ErrorCause }),
  };
}

/** The error in the output of a failed node, for nodes after it when the run goes on. */
export function briefError({ code, message }: AppError): JsonObject {
  return { code, message };
}

/** The error of an activation whose pin lets it fail: the `error` in the pinned output. */
export function pinnedError({ error }: JsonObject): AppError {
  const { code, message, details } = isJsonObject(error) ? error : {};
  return new AppError(
    isErrorCode(code) ? code : 'NODE_FAILED',
    typeof message === 'string' ? message : 'The test lets this node fail',
    { retry: false, ...(isJsonObject(details) && { details }) },
  );
}

/** Whether another attempt may succeed after this error, and the `retryOn` of the policy, if there is one, includes its class. */
export function isRepeatable({ code, retry }: AppError, policy: NodePolicy | undefined): boolean {
  return retry && (policy?.retryOn?.some((name) => codes[name].has(code)) ?? true);
}

const codes: Readonly<Record<RetryClass, ReadonlySet<ErrorCode>>> = {
  timeout: new Set(['NODE_TIMEOUT', 'UPSTREAM_TIMEOUT']),
  upstream: new Set(['UPSTREAM_FAILED', 'UNAVAILABLE']),
  code: new Set(['NODE_FAILED']),
};

/** The exit by which a failed node is left; undefined if its failure ends the run, or the item around it. */
export function exitAfterFailure(
  { definition, config, exits }: Pick<GraphNode, 'definition' | 'config' | 'exits'>,
  handling: NodePolicy['errorHandling'],
): string | null | undefined {
  const isErrorConnected = exits.has('error');
  if (endsTheRun(handling, isErrorConnected)) return undefined;
  if (isErrorConnected) return 'error';
  const exit = failedExitOf(definition, config);
  // An exit that needs an edge and has none does not handle the failure.
  return exit !== null && needsEdge(definition, config, exit) && !exits.has(exit) ? undefined : exit;
}

/** Whether the failure of a node ends the run. Without a choice in its config it does, unless an edge leaves the `error` exit. */
export function endsTheRun(handling: NodePolicy['errorHandling'], isErrorConnected: boolean): boolean {
  return handling === undefined ? !isErrorConnected : handling === 'fail_workflow' || handling === 'retry_then_fail';
}

/** The output of a node that gives no value: null under its output variable, if it has one. */
export function nullOutput(config: unknown): JsonObject {
  const name = (config as { outputVariable?: string } | undefined)?.outputVariable;
  return name ? { [name]: null } : {};
}

/** Backoff: doubles with every failure, up to five minutes, plus or minus a quarter, and at least a server's Retry-After. */
export function retryDelay(baseMs: number, failures: number, retryAfterSeconds: number | undefined): number {
  const backoff = Math.min(baseMs * 2 ** (failures - 1), 300_000) * (0.75 + Math.random() / 2);
  return Math.round(Math.max(backoff, (retryAfterSeconds ?? 0) * 1000));
}
