import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json } from '#shared/core/json.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import { transform } from '#shared/triggers/listeners/actions.ts';
import { requireStorable } from '#shared/triggers/listeners/require-usable.ts';
import type { Sandbox } from '../../../sandbox/pool.ts';
import type { ActionContext, RunAction } from './action.ts';

/** Time limit of a script that changes or filters an event. */
export const SCRIPT_MS = 2_000;

interface Script extends Pick<ActionContext, 'tenantID' | 'event' | 'signal'> {
  code: string;
}

/**
 * Runs a script on an event. The script gets nothing but the event, so its errors are not retried, since another attempt would throw
 * them again; and they do not count for the listener's circuit breaker.
 */
export async function runScript(sandbox: Sandbox, { tenantID, code, event, signal }: Script): Promise<Json> {
  try {
    return await sandbox.run({ tenantID, code, args: { event }, timeoutMs: SCRIPT_MS }, signal);
  } catch (error) {
    // An error with a cause comes from the sandbox's process and not from the script.
    if (!(error instanceof AppError) || error.code !== 'NODE_FAILED' || error.cause !== undefined) throw error;
    throw new AppError(error.code, error.message, { retry: false, details: error.details });
  }
}

export function createTransform(sandbox: Sandbox): RunAction {
  return async (config, { tenantID, event, signal }) => {
    const { script: code } = requireValue(transform.config, config, ['actionConfig']);
    const changed = await runScript(sandbox, { tenantID, code, event, signal });
    if (changed === null) return { isFiltered: true };
    // Templates of later actions refer to fields of the event, so it must be an object.
    if (!isJsonObject(changed))
      throw new AppError('INVALID_OUTPUT', 'The code must return an object, or null to filter the event out');
    requireStorable(changed);
    return { event: changed };
  };
}
