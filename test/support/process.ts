import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { flushCompileCache } from 'node:module';

export interface Spawned extends AsyncDisposable {
  readonly pid: number;
  readonly child: ChildProcess;
  /** Sends the signal and, unless it only stops or continues, waits for the end. */
  kill(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/**
 * For a process that runs Gantry's code: the settings, and the cache of compiled code that `npm test` has, which halves
 * the processor time of a start. It is written here, because a process that is killed does not write it.
 */
export function nodeEnvironment(settings: Record<string, string>): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  flushCompileCache();
  return { ...settings, PATH, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) };
}

/** A test that waits for a process that has failed says only that there is no answer. */
function tellWhyItEnds(child: ChildProcess, args: string[]): void {
  let written = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    written = (written + text).slice(-2_000);
  });
  child.on('close', (code) => {
    if (code) process.stderr.write(`${args.join(' ')} has ended with exit code ${code}:\n${written}\n`);
  });
}

/** A Gantry process as in production: its own memory, its own connections, and it can be killed. */
export function spawnNode(args: string[], env: Record<string, string>): Spawned {
  const child = spawn(process.execPath, args, {
    env: nodeEnvironment(env),
    stdio: ['ignore', 'ignore', process.env.TEST_LOG_LEVEL ? 'inherit' : 'pipe', 'ipc'],
  });
  tellWhyItEnds(child, args);
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  return {
    pid: child.pid ?? 0,
    child,
    async kill(signal) {
      child.kill(signal);
      if (signal === 'SIGSTOP' || signal === 'SIGCONT') return { code: null, signal: null };
      return ended;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await ended;
    },
  };
}
