import { AppError, type ErrorCode, isErrorCode } from '#shared/core/errors.ts';
import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import type { GraphNode } from '#shared/workflow/graph/graph.ts';
import type { RetryClass } from '#shared/workflow/nodes/common.ts';
import { failedExitOf, needsEdge } from '#shared/workflow/nodes/properties.ts';
import type { NodePolicy } from '#shared/workflow/options.ts';
import type { ErrorCause, ShownError } from '#shared/workflow/run-error.ts';

/** Characters of details and of causes that are stored with an outcome. */
const MAX_DETAILS = 4_000;
/** A day, as for a delay. A server that asks for a longer pause is not asked again: its header may hold any date. */
export const LONGEST_PAUSE_MS = 86_400_000;

/** The error of an attempt as it is stored. Its `details.cause` is what led to it. */
export function shownError({ code, message, details: all }: AppError): ShownError {
  const { cause, ...details } = isJsonObject(all) ? all : {};
  const isShort = (value: unknown) => JSON.stringify(value).length <= MAX_DETAILS;
  return {
    code,
    message,
    ...(Object.keys(details).length > 0 && isShort(details) && { details }),
    // Made by `causedBy`.
    ...(isJsonObject(cause) && isShort(cause) && { cause: cause as unknown as ErrorCause }),
  };
}

/** The error in the output of a node that is left all the same. */
export function briefError({ code, message }: AppError): JsonObject {
  return { code, message };
}

/** The error of an activation that a test lets fail: that in its output, as the timeline of a run shows it. */
export function pinnedError({ error }: JsonObject): AppError {
  const { code, message, details } = isJsonObject(error) ? error : {};
  return new AppError(
    isErrorCode(code) ? code : 'NODE_FAILED',
    typeof message === 'string' ? message : 'The test lets this node fail',
    { retry: false, ...(isJsonObject(details) && { details }) },
  );
}

export function retriesOf(policy: NodePolicy | undefined): number {
  const once = ['continue', 'continue_default', 'skip_item'];
  return policy && !once.includes(policy.errorHandling ?? '') ? policy.retryLimit : 0;
}

/** Whether another attempt may succeed, and the policy wants one after this error. One that would come again is never repeated. */
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
  const connected = exits.has('error');
  if (endsTheRun(handling, connected)) return undefined;
  if (connected) return 'error';
  const exit = failedExitOf(definition, config);
  return exit !== null && needsEdge(definition, exit) && !exits.has(exit) ? undefined : exit;
}

export function endsTheRun(handling: NodePolicy['errorHandling'], connected: boolean): boolean {
  return handling === undefined ? !connected : handling === 'fail_workflow' || handling === 'retry_then_fail';
}

export function nullOutput(config: unknown): JsonObject {
  const name = (config as { outputVariable?: string } | undefined)?.outputVariable;
  return name ? { [name]: null } : {};
}

/** Backoff: doubles with every failure, up to five minutes, plus or minus a quarter, and at least a server's Retry-After. */
export function retryDelay(baseMs: number, failures: number, retryAfterSeconds: number | undefined): number {
  const backoff = Math.min(baseMs * 2 ** (failures - 1), 300_000) * (0.75 + Math.random() / 2);
  return Math.round(Math.max(backoff, (retryAfterSeconds ?? 0) * 1000));
}
