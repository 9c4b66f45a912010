import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json } from '#shared/core/json.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import { transform } from '#shared/triggers/listeners/actions.ts';
import type { Sandbox } from '../../../sandbox/pool.ts';
import type { ActionContext, RunAction } from './action.ts';

/** Time of a script that changes or filters an event. */
export const SCRIPT_MS = 2_000;

interface Script extends Pick<ActionContext, 'tenantID' | 'event' | 'signal'> {
  code: string;
}

/**
 * The script sees the event alone, so what it throws is the event's own fault: another attempt would throw it again, and it says
 * nothing of the targets that other events reach.
 */
export async function runScript(sandbox: Sandbox, { tenantID, code, event, signal }: Script): Promise<Json> {
  try {
    return await sandbox.run({ tenantID, code, args: { event }, timeoutMs: SCRIPT_MS }, signal);
  } catch (error) {
    // One with a cause is that of the sandbox's process.
    if (!(error instanceof AppError) || error.code !== 'NODE_FAILED' || error.cause !== undefined) throw error;
    throw new AppError(error.code, error.message, { retry: false, details: error.details });
  }
}

export function createTransform(sandbox: Sandbox): RunAction {
  return async (config, { tenantID, event, signal }) => {
    const { script: code } = requireValue(transform.config, config, ['actionConfig']);
    const changed = await runScript(sandbox, { tenantID, code, event, signal });
    if (changed === null) return { isFiltered: true };
    // Templates of later actions name its fields.
    if (!isJsonObject(changed))
      throw new AppError('INVALID_OUTPUT', 'The code must return an object, or null to filter the event out');
    return { event: changed };
  };
}
