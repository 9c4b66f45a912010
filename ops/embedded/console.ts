/** The build of the console beside `npm start`, in a process of its own. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, openSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Modules from outside of it whose code is in the pages; they import nothing but types and one another. */
export const sharedModules: readonly string[] = [
  'ops/samples/prepare.ts',
  'shared/core/csv.ts',
  'shared/core/exact-number.ts',
  'shared/core/lossless-json.ts',
  'shared/workflow/graph/nodes-before.ts',
  'shared/workflow/graph/regions.ts',
  'shared/workflow/nodes/exits.ts',
  'shared/workflow/nodes/results.ts',
  'shared/workflow/reserved.ts',
  'shared/workflow/templates/expressions.ts',
];

/** The folder of the pages that the present sources and lockfile make: another state has another folder. */
export function consoleFolder(): string {
  const hash = createHash('sha256');
  const sources = globSync(['ops/console/**/*.*', 'ops/samples/*.json'], { cwd: root }).sort();
  for (const path of [
    ...sources,
    ...sharedModules,
    'ops/samples/groups.ts',
    'ops/tools/build-console.ts',
    'package-lock.json',
  ])
    hash
      .update(path)
      .update('\0')
      .update(readFileSync(join(root, path)))
      .update('\0');
  return join(root, '.gantry', 'console', hash.digest('hex').slice(0, 16));
}

/** Builds into the folder, unless it is built. It is not waited for, and a build that fails leaves a log. */
export function startConsoleBuild(folder: string, log: string): Disposable {
  const file = openSync(log, 'a');
  const child = spawn(process.execPath, ['ops/tools/build-console.ts', folder], {
    cwd: root,
    stdio: ['ignore', file, file],
    detached: true,
  });
  // The processes that it runs beside come first.
  if (child.pid !== undefined) setPriority(child.pid, 10);
  child.unref();
  child.on('error', () => undefined);
  return { [Symbol.dispose]: () => void child.kill('SIGTERM') };
}
