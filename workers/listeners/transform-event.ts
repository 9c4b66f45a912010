import { AppError } from '#shared/errors.ts';
import { isJsonObject } from '#shared/json.ts';
import { transform } from '#shared/listeners/actions.ts';
import { requireValue } from '#shared/parse-value.ts';
import type { Sandbox } from '../sandbox/pool.ts';
import type { RunAction } from './action.ts';

/** Time of a script that changes or filters an event. */
export const SCRIPT_MS = 2_000;

export function createTransform(sandbox: Sandbox): RunAction {
  return async (config, { tenantID, event, signal }) => {
    const { script: code } = requireValue(transform.config, config, ['actionConfig']);
    const changed = await sandbox.run({ tenantID, code, args: { event }, timeoutMs: SCRIPT_MS }, signal);
    if (changed === null) return { isFiltered: true };
    // Templates of later actions name its fields.
    if (!isJsonObject(changed))
      throw new AppError('INVALID_OUTPUT', 'The code must return an object, or null to filter the event out');
    return { event: changed };
  };
}
