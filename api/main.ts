import { readConfig } from '#shared/config.ts';
import { createLogger } from '#shared/logger.ts';
import { stopSignal } from '#shared/stop-signal.ts';
import { startApi } from './listen.ts';

const config = readConfig();
const logger = createLogger(config.log, { process: 'api' });
const stop = stopSignal(config.shutdownMs, logger);
await using api = await startApi({ config, logger });
logger.info({ host: config.http.host, port: api.port }, 'api is listening');
await stop;
