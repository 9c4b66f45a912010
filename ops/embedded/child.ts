import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, open } from 'node:fs/promises';

interface ChildOptions {
  name: string;
  /** Arguments of node, in addition to the options that this process was started with. */
  args: string[];
  env: Record<string, string | undefined>;
  /** A file that is appended to, or the terminal. */
  log: string | 'inherit';
}

/** Keeps a process of ours running: restarts it when it ends by itself, and stops it with SIGTERM when disposed. */
export async function superviseChild({ name, args, env, log }: ChildOptions): Promise<AsyncDisposable> {
  const file: FileHandle | undefined = log === 'inherit' ? undefined : await open(log, 'a');
  const output = file ? file.fd : 'inherit';
  let child: ChildProcess;
  let stopping = false;
  let retry: NodeJS.Timeout | undefined;
  let failures = 0;

  function launch(): void {
    const began = Date.now();
    // A group of its own: Ctrl-C in the terminal reaches this process, which then stops the child. The channel
    // tells the child when this process has ended.
    child = spawn(process.execPath, [...process.execArgv, ...args], {
      env,
      stdio: ['ignore', output, output, 'ipc'],
      detached: true,
    });
    child.unref();
    child.on('exit', (code, signal) => {
      if (stopping) return;
      failures = Date.now() - began > 30_000 ? 1 : failures + 1;
      const waitMs = Math.min(500 * 2 ** (failures - 1), 15_000);
      console.error(
        `The ${name} process ended (${signal ?? `exit code ${code}`}); starting it again in ${waitMs / 1000} s${file ? `. Its log: ${log}` : ''}`,
      );
      retry = setTimeout(launch, waitMs);
    });
  }

  launch();
  return {
    async [Symbol.asyncDispose]() {
      stopping = true;
      clearTimeout(retry);
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        await ended;
      }
      await file?.close();
    },
  };
}
