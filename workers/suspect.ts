import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '#shared/config.ts';
import { createLogger } from '#shared/logger.ts';
import { addProcessMetrics, createReportedMetrics } from '#shared/metrics.ts';
import { addHandOverMetrics } from '#shared/run-metrics.ts';
import { stopSignal } from '#shared/stop-signal.ts';
import type { SuspectReport, SuspectStart } from './engine/suspects.ts';
import { addEngineMetrics } from './metrics.ts';
import { openEngine } from './open-engine.ts';

/** Longer than the pause between two looks of the worker, so that a burst of suspects needs one process. */
const IDLE_MS = 10_000;
const LOOK_MS = 250;
const REPORT_MS = 1_000;

// The worker sends it first. The channel, which otherwise does not keep a process alive, does so until then.
const [{ config }] = (await once(process, 'message')) as [SuspectStart];
const logger = createLogger(config.log, { process: 'suspect' });
const stop = stopSignal(config.shutdownMs, logger);
let isStopping = false;
void stop.then(() => {
  isStopping = true;
});
await runSuspects(config);
// The channel to the worker would keep the process alive.
if (process.connected) process.disconnect?.();

/** Claims one suspect after the other, until there has been none for some time. */
async function runSuspects(config: Config): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const opened = await openEngine(resources, {
    config,
    logger,
    name: 'gantry.suspect',
    leaseSlots: 1,
    onFinished: (own) => void own.runs.refill().catch(() => undefined),
  });
  const { engine, lease, runs, pools } = opened;
  const metrics = createReportedMetrics();
  addEngineMetrics(metrics, opened);
  addHandOverMetrics(metrics, runs);
  resources.use(addProcessMetrics(metrics, pools));
  await lease.open();
  resources.use(lease);
  const report = async () => {
    const message: SuspectReport = { leaseID: lease.id, metrics: await metrics.report() };
    process.send?.(message, () => undefined);
  };
  await report();
  const timer = setInterval(() => void report(), REPORT_MS);
  resources.defer(() => clearInterval(timer));
  let isOver = false;
  // Aborts the nodes of the run and hands it back, still a suspect. Closing the channel, at the very end, looks like a stop.
  const drained = stop.then(() => (isOver ? undefined : engine.drain()));

  let idleSince = performance.now();
  while (!isStopping && performance.now() - idleSince < IDLE_MS) {
    const found = await engine.advanceSuspect().catch((error) => {
      logger.warn({ err: error }, 'no suspect claimed; tried again');
      return false;
    });
    if (found) idleSince = performance.now();
    else await Promise.race([sleep(LOOK_MS), stop]);
  }
  isOver = true;
  if (isStopping) await drained;
}
