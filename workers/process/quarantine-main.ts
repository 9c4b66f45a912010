import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { retryUntilAvailable } from '#shared/concurrency/retry-until-available.ts';
import { createLogger } from '#shared/core/logger.ts';
import { addProcessMetrics, createReportedMetrics } from '#shared/core/metrics.ts';
import type { Config } from '#shared/process/config.ts';
import { stopSignal } from '#shared/process/shutdown.ts';
import { addDispatchMetrics } from '#shared/runs/dispatch/metrics.ts';
import type { QuarantineReport, QuarantineStart } from '../engine/recovery/quarantine.ts';
import { addEngineMetrics } from './metrics.ts';
import { type OpenEngine, openEngine } from './open-engine.ts';

/** The process ends after this time without a run. Longer than the pause between two polls of the worker, so that several crash-suspected
 * runs need one process. */
const IDLE_MS = 10_000;
const POLL_MS = 250;
const REPORT_MS = 1_000;

// The first message of the worker has the config. The wait for it keeps the process alive, which the open channel alone does not do.
const [{ config }] = (await once(process, 'message')) as [QuarantineStart];
const logger = createLogger(config.log, { process: 'suspect' });
const stop = stopSignal(config.shutdownMs, logger);
const stopping = new AbortController();
void stop.then(() => stopping.abort());
await runQuarantined(config);
// The channel to the worker, or a connection that a library has forgotten, would keep the process alive.
process.exit(0);

/** Claims one crash-suspected run after the other, until there has been none for some time. */
async function runQuarantined(config: Config): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const found = await retryUntilAvailable(() => open(config), { logger, signal: stopping.signal }).catch((error) => {
    if (!stopping.signal.aborted) throw error;
  });
  if (!found) return;
  const { opened } = found;
  resources.use(found.owned);
  const { engine, lease, runs, pools } = opened;
  const metrics = createReportedMetrics();
  addEngineMetrics(metrics, opened);
  addDispatchMetrics(metrics, runs);
  resources.use(addProcessMetrics(metrics, pools));
  const report = async () => {
    const message: QuarantineReport = { leaseID: lease.id, metrics: await metrics.report() };
    process.send?.(message, () => undefined);
  };
  await report();
  const timer = setInterval(() => void report(), REPORT_MS);
  resources.defer(() => clearInterval(timer));
  let isOver = false;
  // On a stop, aborts the nodes of the run and releases it, still crash-suspected. `isOver`: the closing of the channel at the very end
  // looks like a stop.
  const drained = stop.then(() => (isOver ? undefined : engine.drain()));

  let idleSince = performance.now();
  while (!stopping.signal.aborted && performance.now() - idleSince < IDLE_MS) {
    const hasRun = await engine.advanceCrashSuspected().catch((error) => {
      logger.warn({ err: error }, 'no suspect claimed; tried again');
      return false;
    });
    if (hasRun) idleSince = performance.now();
    else await Promise.race([sleep(POLL_MS), stop]);
  }
  isOver = true;
  if (stopping.signal.aborted) await drained;
}

/** Opens an engine, and a lease of its own. */
async function open(config: Config): Promise<{ opened: OpenEngine; owned: AsyncDisposableStack }> {
  await using resources = new AsyncDisposableStack();
  const opened = await openEngine(resources, {
    config,
    logger,
    name: 'gantry.suspect',
    leaseSlots: 1,
    onFinished: (own) => void own.runs.dispatchQueued().catch(() => undefined),
  });
  await opened.lease.open();
  resources.use(opened.lease);
  return { opened, owned: resources.move() };
}
