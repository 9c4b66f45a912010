import { retryUntilAvailable } from '#shared/concurrency/retry-until-available.ts';
import { createLogger } from '#shared/core/logger.ts';
import { type QueueName, queues } from '#shared/messaging/queues/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { servePages } from '#shared/process/health-server.ts';
import { closeAndExit, stopSignal } from '#shared/process/shutdown.ts';
import { startOrExit } from '#shared/process/start-failure.ts';
import { createWorker, type WorkerContext } from './process/worker.ts';

const { config, logger, names } = await startOrExit('The worker', async () => {
  const config = readConfig();
  return { config, logger: createLogger(config.log, { process: 'worker' }), names: queuesOf(process.argv.slice(2)) };
});
const stop = stopSignal(config.shutdownMs, logger);
// A worker that is stopped before it is ready has nothing to hand back.
const worker = (await startOrExit('The worker', () => Promise.race([start(), stop]))) ?? process.exit(0);
logger.info({ leaseID: worker.leaseID, queues: names.length > 0 ? names : 'all' }, 'worker is taking jobs');
await stop;
logger.info('worker is handing back its work');
await closeAndExit(worker);

async function start(): Promise<WorkerContext> {
  const pages = config.metrics && (await servePages(config.metrics, logger));
  const options = { config, logger, pages, ...(names.length > 0 && { queueNames: names }) };
  return retryUntilAvailable(() => createWorker(options), { logger, onUnavailable: () => pages?.noteAway() });
}

function queuesOf(names: readonly string[]): QueueName[] {
  const known = new Set<string>(queues.map(({ name }) => name));
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) throw new Error(`Unknown queue "${unknown}"; known: ${[...known].join(', ')}`);
  // Safe: each is the name of a queue.
  return names as QueueName[];
}
