import { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import type { javascript } from '#shared/workflow/nodes/kinds/javascript.ts';
import type { Executor } from '../executor.ts';

const WRAPPED = 'return (async () => {';

export const runJavascript: Executor<typeof javascript> = async ({ config, run, signal }, { sandbox }) => {
  const { tenantID, scope, timeoutMs, timeoutSetBy, variables } = run;
  // Wrapped in a function, so that code may declare a name `vars`; on its first line, so that line numbers are those of the code.
  const code = variables.inCode ? `${WRAPPED}${config.code}\n})();` : config.code;
  // Loaded by the first node with code, because many workers never run one.
  const { contextFor } = await import('../context-keys.ts');
  const args = { ctx: contextFor(config.code, scope), ...(variables.inCode && { vars: variables.values }) };
  const onPrinted = run.print.bind(run);
  const running = sandbox.run({ tenantID, code, args, timeoutMs, timeoutSetBy, onPrinted }, signal);
  const value = await (variables.inCode ? running.catch((error) => Promise.reject(inOwnColumns(error))) : running);
  return { output: { [config.outputVariable]: value, success: true }, exit: 'success' };
};

/** Corrects the column of an error in the first line, which begins with the wrapper. */
function inOwnColumns(error: unknown): unknown {
  if (!(error instanceof AppError) || !isJsonObject(error.details)) return error;
  const { line, column } = error.details;
  if (line !== 1 || typeof column !== 'number') return error;
  const { code, message, retry } = error;
  return new AppError(code, message, { cause: error, retry, details: { line, column: column - WRAPPED.length } });
}
