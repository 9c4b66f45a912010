import type { AppError } from '#shared/errors.ts';
import type { JsonObject } from '#shared/json.ts';
import type { NodePolicy } from '#shared/workflow/options.ts';

export function shownError({ code, message }: AppError): { code: string; message: string } {
  return { code, message };
}

export function retriesOf(policy: NodePolicy | undefined): number {
  const once = ['continue', 'continue_default', 'skip_item'];
  return policy && !once.includes(policy.errorHandling ?? '') ? policy.retryLimit : 0;
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
