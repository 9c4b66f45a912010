import { retryUntilAvailable } from '#shared/concurrency/retry-until-available.ts';
import { createLogger } from '#shared/core/logger.ts';
import { type QueueName, queues } from '#shared/messaging/queues/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { servePages } from '#shared/process/health-server.ts';
import { closeAndExit, stopSignal } from '#shared/process/shutdown.ts';
import { createWorker } from './process/worker.ts';

const config = readConfig();
const logger = createLogger(config.log, { process: 'worker' });
const known = new Set<string>(queues.map(({ name }) => name));
const names = process.argv.slice(2);
for (const name of names)
  if (!known.has(name)) throw new Error(`Unknown queue "${name}"; known: ${[...known].join(', ')}`);

const stop = stopSignal(config.shutdownMs, logger);
const pages = config.metrics && (await servePages(config.metrics, logger));
const options = { config, logger, pages, ...(names.length > 0 && { queueNames: names as QueueName[] }) };
const start = retryUntilAvailable(() => createWorker(options), { logger, onUnavailable: () => pages?.noteAway() });
// A worker that is stopped before it is ready has nothing to hand back.
const worker = (await Promise.race([start, stop])) ?? process.exit(0);
logger.info({ leaseID: worker.leaseID, queues: names.length > 0 ? names : 'all' }, 'worker is taking jobs');
await stop;
logger.info('worker is handing back its work');
await closeAndExit(worker);
