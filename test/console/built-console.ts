/** The console as `npm start` builds it, once for each state of its sources. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { consoleFolder } from '#ops/embedded/console.ts';

const root = join(import.meta.dirname, '../..');

export async function builtConsole(folder = consoleFolder()): Promise<{ folder: string; said: string }> {
  const build = join(root, 'ops/tools/build-console.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [build, folder], { cwd: root });
  return { folder, said: stdout };
}
