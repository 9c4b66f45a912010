import type { javascript } from '#shared/nodes/javascript.ts';
import type { Executor } from './executor.ts';

export const runJavascript: Executor<typeof javascript> = async ({ config, run, signal }, { sandbox }) => {
  const { tenantID, scope, timeoutMs } = run;
  const value = await sandbox.run({ tenantID, code: config.code, args: { ctx: scope }, timeoutMs }, signal);
  return { output: { [config.outputVariable]: value, success: true }, exit: 'success' };
};
