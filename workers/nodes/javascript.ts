import type { javascript } from '#shared/nodes/javascript.ts';
import type { Executor } from './executor.ts';

export const runJavascript: Executor<typeof javascript> = async ({ config, run, signal }, { sandbox }) => {
  const { tenantID, scope, timeoutMs, variables } = run;
  // In a function of its own, so that code may declare a name `vars`; on the first line, so that line numbers are those of the code.
  const code = variables.inCode ? `return (async () => {${config.code}\n})();` : config.code;
  // Loaded by the first node with code, because many workers never run one.
  const { contextFor } = await import('./context-keys.ts');
  const args = { ctx: contextFor(config.code, scope), ...(variables.inCode && { vars: variables.values }) };
  const onPrinted = run.print.bind(run);
  const value = await sandbox.run({ tenantID, code, args, timeoutMs, onPrinted }, signal);
  return { output: { [config.outputVariable]: value, success: true }, exit: 'success' };
};
