import { createLogger } from '#shared/core/logger.ts';
import { readConfig } from '#shared/process/config.ts';
import { closeAndExit, stopSignal } from '#shared/process/shutdown.ts';
import { startMCP } from './listen.ts';

const config = readConfig();
const logger = createLogger(config.log, { process: 'mcp' });
const stop = stopSignal(config.shutdownMs, logger);
// A process that is stopped before it is ready has nothing to finish.
const mcp = (await Promise.race([startMCP({ config, logger }), stop])) ?? process.exit(0);
logger.info({ host: config.mcp.host, port: mcp.port }, 'mcp is ready');
await stop;
await closeAndExit(mcp);
