/** The console as `npm start` builds it, once for each state of its sources. Returns its folder. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { consoleFolder } from '#ops/embedded/console.ts';

const root = join(import.meta.dirname, '../..');

export async function builtConsole(): Promise<string> {
  const folder = consoleFolder();
  if (existsSync(join(folder, 'index.html'))) return folder;
  await promisify(execFile)(process.execPath, [join(root, 'ops/tools/build-console.ts'), folder], { cwd: root });
  return folder;
}
