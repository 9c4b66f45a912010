/** Properties of the test files for vitest.config.ts, mostly read from their text. Paths are relative to the repository. */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

export const root = join(import.meta.dirname, '../..');

const testFiles = globSync('test/**/*.test.ts', { cwd: root });

/** The one module through which a test learns of the backplane of its run. */
const backplaneModule = 'test/support/backplane.ts';

/**
 * Files about queues, messages between processes, shared limits, and faults of these: both backplanes run them. Beside these, those that
 * load that module themselves do.
 */
const aboutBackplanes: ReadonlySet<string> = new Set([
  ...testFiles.filter((file) => file.startsWith('test/shared/messaging/backplane/')),
  'test/api/http/response/postgres-away.test.ts',
  'test/api/http/limits/rate-limit.test.ts',
  'test/api/streams/awaited-runs.test.ts',
  'test/api/realtime/gateway.test.ts',
  'test/api/realtime/sockets/socket-limits.test.ts',
  'test/flows/board.test.ts',
  'test/flows/kept-jobs.test.ts',
  'test/flows/revoked.test.ts',
  'test/flows/two-of-each.test.ts',
  'test/flows/widget-processes.test.ts',
  'test/shared/runs/dispatch/dispatch.test.ts',
  'test/shared/access/propagate-roles.test.ts',
  'test/workers/engine/recovery/wake-timer.test.ts',
  'test/workers/engine/claim/lost-claim.test.ts',
  'test/workers/engine/recovery/recovery.test.ts',
  'test/workers/engine/claim/shared-jobs.test.ts',
  'test/workers/engine/wake-while-leaving.test.ts',
  'test/workers/runs/batches/fill.test.ts',
  'test/workers/process/metrics.test.ts',
]);

/** Folders of runs. Their other files run on Redis alone, as most deployments do. */
const aboutRuns = /^test\/(flows|workers\/engine)\//;

export type BackplaneName = 'postgres' | 'redis';

/** Tests that the other backplane cannot make a difference to, or that use it as others do: a run on it would only repeat them. */
export function notOn(backplane: BackplaneName): string[] {
  return testFiles.filter((file) => {
    const loads = loadedModules(file).has(backplaneModule);
    if (aboutBackplanes.has(file) || loads) return false;
    const usesOne = modulesUnder(file).has(backplaneModule);
    return backplane !== (usesOne && aboutRuns.test(file) ? 'redis' : 'postgres');
  });
}

/**
 * Files with a process of their own. The memory of a process that has run other files says little, since the next file takes again
 * what they have freed.
 */
export const measuring: readonly string[] = testFiles.filter((file) => textOf(file).includes('process.memoryUsage'));

/**
 * The files that take longest, longest first: one that starts last would leave the other processes without work. At the start, files that
 * wait for leases and restarts alternate with those that need a processor.
 */
export const longestFirst: readonly string[] = [
  'test/console/console.test.ts',
  'test/contract/event-loop.test.ts',
  'test/flows/reliability.test.ts',
  'test/contract/malformed-input.test.ts',
  // After the first one has built the console.
  'test/console/console-assets.test.ts',
  'test/flows/chaos.test.ts',
  'test/api/every-refusal.test.ts',
  'test/workers/engine/recovery/quarantine.test.ts',
  'test/workers/sandbox/pool.test.ts',
  'test/workers/triggers/listeners/live-listeners.test.ts',
  'test/workers/nodes/every-kind.test.ts',
  'test/flows/rpc.test.ts',
  'test/api/every-route.test.ts',
  'test/flows/older-worker.test.ts',
  'test/workers/engine/silent-connections.test.ts',
  'test/flows/listener-actions.test.ts',
  'test/api/resources/operator/operator.test.ts',
  'test/ops/enrol-operator.test.ts',
  'test/flows/outages.test.ts',
  'test/ops/embedded.test.ts',
  'test/flows/without-postgres.test.ts',
  'test/api/http/fields/page-size.test.ts',
  'test/workers/engine/recovery/lost-runs.test.ts',
  'test/api/resources/database/execute-sql.test.ts',
  'test/ops/bootstrap.test.ts',
  'test/ops/start.test.ts',
  'test/api/http/reference/reference.test.ts',
  'test/workers/tenant-database/databases/move.test.ts',
  'test/api/resources/tenants/database.test.ts',
  'test/workers/tenant-database/servers/connections.test.ts',
  'test/flows/crash-points.test.ts',
  'test/flows/ledger.test.ts',
  'test/workers/engine/waits/event-waits.test.ts',
  'test/workers/engine/maps/maps.test.ts',
  'test/workers/engine/recovery/sweep.test.ts',
  'test/workers/engine/quantum.test.ts',
  'test/api/realtime/gateway.test.ts',
  'test/flows/loaded-packages.test.ts',
  'test/workers/engine/stops-while-away.test.ts',
];

/** The file and every module of `test/` that it loads, directly or through others. */
function modulesUnder(file: string, found = new Set<string>()): ReadonlySet<string> {
  found.add(file);
  for (const module of loadedModules(file)) if (!found.has(module)) modulesUnder(module, found);
  return found;
}

/** Those modules of `test/` that the file itself loads. */
function loadedModules(file: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [, specifier = ''] of textOf(file).matchAll(/(?:from|import)\s*\(?\s*'([^']+\.ts)'/g)) {
    const module = specifier.startsWith('#') ? specifier.slice(1) : posix.join(posix.dirname(file), specifier);
    if (module.startsWith('test/')) found.add(module);
  }
  return found;
}

function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}
