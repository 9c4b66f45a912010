import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Folders that this process has made and not yet removed. */
const folders = new Set<string>();

/** Makes a folder that only this user can read, and removes those of processes of this machine that were killed. */
export async function makeFolder(): Promise<string> {
  const prefix = `gantry-files-${hostname()}-`;
  const folder = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
  folders.add(folder);
  for (const name of await readdir(tmpdir())) {
    const path = join(tmpdir(), name);
    if (!name.startsWith(prefix) || folders.has(path)) continue;
    // The name of another machine may begin with the name of this one.
    const [, digits] = /^(\d+)-[^-]+$/.exec(name.slice(prefix.length)) ?? [];
    if (digits === undefined) continue;
    const pid = Number(digits);
    // A folder with our own pid is an earlier process's: pids repeat when a container restarts. The removal of another user's folder
    // fails, and the folder stays.
    if (pid === process.pid || !isAlive(pid)) await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
  return folder;
}

export async function removeFolder(folder: string): Promise<void> {
  folders.delete(folder);
  await rm(folder, { recursive: true, force: true });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
