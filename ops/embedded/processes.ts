/** Child processes that outlive neither their parent nor their use. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Wraps a command so that the kernel sends it a signal when this process has ended, even after `kill -9`.
 * `setpriv` belongs to util-linux, which every Debian has; other systems go without.
 */
export function tiedToParent(signal: 'INT' | 'KILL' | 'TERM', command: readonly string[]): string[] {
  return process.platform === 'linux' ? ['setpriv', '--pdeathsig', signal, '--', ...command] : [...command];
}

/** Ends a child with each signal in turn, waiting a while after each but the last. */
export async function endChild(
  child: ChildProcess,
  signals: readonly NodeJS.Signals[],
  timeoutMs = 10_000,
): Promise<void> {
  for (const signal of signals) {
    if (hasExited(child)) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await Promise.race([exited, sleep(timeoutMs, undefined, { ref: false })]);
  }
}

export function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** The processes whose working folder is this one. Postgres and all its children sit in their data folder. */
export async function processesIn(folder: string): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const folders = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => undefined)));
  return pids.filter((_, index) => folders[index] === folder);
}

/** Ends processes that are not our children: politely, and after a while with SIGKILL. */
export async function endProcesses(
  find: () => Promise<number[]>,
  polite: NodeJS.Signals,
  timeoutMs = 10_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let signal: NodeJS.Signals | undefined = polite;
  for (let pids = await find(); pids.length > 0; pids = await find()) {
    if (signal !== undefined) for (const pid of pids) send(pid, signal);
    signal = Date.now() > deadline ? 'SIGKILL' : undefined;
    await sleep(25);
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended in the meantime.
  }
}
