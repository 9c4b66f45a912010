import { createLogger } from '#shared/core/logger.ts';
import { readConfig } from '#shared/process/config.ts';
import { closeAndExit, stopSignal } from '#shared/process/shutdown.ts';
import { startOrExit } from '#shared/process/start-failure.ts';
import { startApi } from './app/listen.ts';

const { config, logger } = await startOrExit('The API', async () => {
  const config = readConfig();
  return { config, logger: createLogger(config.log, { process: 'api' }) };
});
const stop = stopSignal(config.shutdownMs, logger);
// A process that is stopped before it is ready has nothing to finish.
const api = (await startOrExit('The API', () => Promise.race([startApi({ config, logger }), stop]))) ?? process.exit(0);
logger.info({ host: config.http.host, port: api.port }, 'api is ready');
await stop;
await closeAndExit(api);
