/** Properties of the test files for vitest.config.ts, mostly read from their text. Paths are relative to the repository. */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

export const root = join(import.meta.dirname, '../..');

const testFiles = globSync('test/**/*.test.ts', { cwd: root });

/** The one module through which a test learns of the backplane of its run. */
const backplaneModule = 'test/support/backplane.ts';

/** Files with a deployment around what they test, but whose subject uses no queue, message or shared limit. */
const aboutOtherThings =
  /^test\/(console|contract|ops|workers\/(connectors|files|listeners|nodes|postgresql|tenant-database))\//;

/**
 * Files of other folders of which the same is true. What they use between processes has files of its own that run on both backplanes:
 * questions ask.test.ts, limits limiter.test.ts, changes of rights revoked.test.ts, and runs the folder of the engine.
 */
const alsoAboutOtherThings: ReadonlySet<string> = new Set([
  'test/api/bundles/jobs.test.ts',
  'test/api/resources/api-keys.test.ts',
  'test/api/resources/oauth.test.ts',
  'test/flows/older-worker.test.ts',
  'test/flows/tenant-database-isolation.test.ts',
  'test/shared/files/files.test.ts',
]);

/** Files about answers of the API. Some routes ask a worker: test/api/every-route.test.ts has each of them on both backplanes. */
const aboutAnswers = /^test\/api\/(?!every-route|main\.|realtime\/)/;

/** In a file about answers, what needs a backplane: other processes, sockets, or the backplane itself. */
const betweenProcesses = /\bapis: 2|\bsocket\(|\bworkers: 2|\bbackplane\b|\bredisURL\b/;

/** Tests that no backplane can make a difference to; a run on the second one would only repeat them. */
export const backplaneFree: readonly string[] = testFiles.filter(
  (file) =>
    aboutOtherThings.test(file) ||
    alsoAboutOtherThings.has(file) ||
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

/**
 * The files that take longest, longest first: one that starts last would leave the other processes without work. At the start, files that
 * wait for leases and restarts alternate with those that need a processor.
 */
export const longestFirst: readonly string[] = [
  'test/flows/reliability.test.ts',
  'test/contract/malformed-input.test.ts',
  'test/flows/chaos.test.ts',
  'test/api/every-refusal.test.ts',
  'test/workers/engine/suspects.test.ts',
  'test/workers/sandbox/pool.test.ts',
  'test/workers/listeners/live-listeners.test.ts',
  'test/workers/nodes/every-kind.test.ts',
  'test/flows/ask.test.ts',
  'test/api/every-route.test.ts',
  'test/flows/older-worker.test.ts',
  'test/workers/engine/recovery.test.ts',
  'test/flows/listener-actions.test.ts',
  'test/api/resources/operator.test.ts',
  'test/ops/enrol-operator.test.ts',
  'test/flows/outages.test.ts',
  'test/ops/embedded.test.ts',
  'test/workers/cron/fleet.test.ts',
  'test/api/http/page-size.test.ts',
  'test/flows/webhook-outages.test.ts',
  'test/api/resources/database/execute-sql.test.ts',
  'test/ops/bootstrap.test.ts',
  'test/ops/start.test.ts',
  'test/api/http/reference.test.ts',
  'test/workers/tenant-database/move.test.ts',
  'test/api/resources/tenants-database.test.ts',
  'test/workers/tenant-database/connections.test.ts',
  'test/flows/crash-points.test.ts',
  'test/flows/ledger.test.ts',
  'test/workers/engine/event-waits.test.ts',
  'test/workers/engine/maps.test.ts',
  'test/workers/engine/sweep.test.ts',
  'test/workers/engine/quantum.test.ts',
  'test/api/realtime/gateway.test.ts',
  'test/flows/loaded-packages.test.ts',
  'test/flows/postgres-restarts.test.ts',
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
