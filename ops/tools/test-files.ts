/** Properties of the test files for vitest.config.ts, mostly read from their text. Paths are relative to the repository. */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

export const root = join(import.meta.dirname, '../..');

const testFiles = globSync('test/**/*.test.ts', { cwd: root });

/** The one module through which a test learns of the backplane of its run. */
const backplaneModule = 'test/support/backplane.ts';

/** Files with a deployment around what they test, but whose subject uses no queue, message or shared limit. */
const aboutOtherThings =
  /^test\/(contract|ops|workers\/(connectors|files|listeners|nodes|postgresql|tenant-database))\//;

/** Files about answers of the API. Some routes ask a worker: test/api/every-route.test.ts has each of them on both backplanes. */
const aboutAnswers = /^test\/api\/(?!every-route|main\.|realtime\/)/;

/** In a file about answers, what needs a backplane: other API processes, sockets, runs, or the backplane itself. */
const betweenProcesses = /\bapis: 2|\bsocket\(|\bworkers: (?:true|2)|\bbackplane\b|\bredisURL\b/;

/** Tests that no backplane can make a difference to; a run on the second one would only repeat them. */
export const backplaneFree: readonly string[] = testFiles.filter(
  (file) =>
    aboutOtherThings.test(file) ||
    (aboutAnswers.test(file) && !betweenProcesses.test(textOf(file))) ||
    !modulesUnder(file).has(backplaneModule),
);

/**
 * Files with a process of their own. The memory of a process that has run other files says little, since the next file takes again
 * what they have freed; and there a request may hold the event loop three times as long (55 ms instead of 16, cause not known).
 */
export const measuring: readonly string[] = testFiles.filter(
  (file) => file === 'test/contract/event-loop.test.ts' || textOf(file).includes('process.memoryUsage'),
);

/** The files that take longest, longest first: one that starts last would leave the other processes without work. */
export const longestFirst: readonly string[] = [
  'test/flows/reliability.test.ts',
  'test/flows/chaos.test.ts',
  'test/workers/engine/suspects.test.ts',
  'test/contract/malformed-input.test.ts',
  'test/api/every-refusal.test.ts',
  'test/workers/sandbox/pool.test.ts',
  'test/flows/ask.test.ts',
  'test/flows/outages.test.ts',
  'test/flows/postgres-restarts.test.ts',
  'test/ops/embedded.test.ts',
  'test/api/resources/database/execute-sql.test.ts',
  'test/workers/engine/recovery.test.ts',
  'test/api/resources/tenants-database.test.ts',
];

/** The file and every module of `test/` that it loads, directly or through others. */
function modulesUnder(file: string, found = new Set<string>()): ReadonlySet<string> {
  found.add(file);
  for (const [, specifier = ''] of textOf(file).matchAll(/(?:from|import)\s*\(?\s*'([^']+\.ts)'/g)) {
    const module = specifier.startsWith('#') ? specifier.slice(1) : posix.join(posix.dirname(file), specifier);
    if (module.startsWith('test/') && !found.has(module)) modulesUnder(module, found);
  }
  return found;
}

function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}
