import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { quote } from '#shared/core/quote.ts';
import type { join } from '#shared/workflow/nodes/kinds/join.ts';
import type { Executor } from '../executor.ts';

const MAX_NAMED = 20;

export const runJoin: Executor<typeof join> = ({ config, run: { scope } }) => {
  const { sourceVariables, outputVariable, requireAll } = config;
  const missing = sourceVariables.filter((key) => !Object.hasOwn(scope, key));
  if (requireAll && missing.length > 0) {
    const named = missing.slice(0, MAX_NAMED).map(quote).join(', ');
    // Not retried, because `ctx` has the same keys at a second attempt.
    throw new AppError('NODE_FAILED', `ctx has no ${named}: no node before the join has set it`, { retry: false });
  }
  const joined: JsonObject = Object.fromEntries(
    sourceVariables.map((key) => [key, Object.hasOwn(scope, key) ? (scope[key] ?? null) : null]),
  );
  return { output: { [outputVariable]: joined, success: true }, exit: 'output' };
};
