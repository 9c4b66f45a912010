import { createCodeSandbox } from '../page/sandbox/code.ts';
import type { CodeJob } from './code-job.ts';
import { type CodeResult, inSandbox } from './in-sandbox.ts';

let sandbox: ReturnType<typeof createCodeSandbox> | undefined;
let users = 0;

/** Keeps the sandbox until the answer is called by all who have asked. */
export function holdSandbox(): () => void {
  users += 1;
  return () => {
    users -= 1;
    if (users > 0) return;
    sandbox?.[Symbol.dispose]();
    sandbox = undefined;
  };
}

/** Runs code as the engine does, without a network and for 100 ms. Rejects where the sandbox fails, and not the code. */
export async function runCode({ body, args }: CodeJob): Promise<CodeResult> {
  sandbox ??= createCodeSandbox();
  const job = { body, names: Object.keys(args), values: Object.values(args) };
  // A sandbox gives names of app pages alone.
  const scope = Object.entries(job).map(([key, value]) => ({ root: 'event' as const, key, value }));
  return (await sandbox.run({ source: `(${inSandbox})(event)`, scope })) as CodeResult;
}
