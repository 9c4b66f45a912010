import { createLogger } from '#shared/core/logger.ts';
import { readConfig } from '#shared/process/config.ts';
import { closeAndExit, stopSignal } from '#shared/process/shutdown.ts';
import { startOrExit } from '#shared/process/start-failure.ts';
import { startMCP } from './listen.ts';

const { config, logger } = await startOrExit('The MCP service', async () => {
  const config = readConfig();
  return { config, logger: createLogger(config.log, { process: 'mcp' }) };
});
const stop = stopSignal(config.shutdownMs, logger);
// A process that is stopped before it is ready has nothing to finish.
const mcp =
  (await startOrExit('The MCP service', () => Promise.race([startMCP({ config, logger }), stop]))) ?? process.exit(0);
logger.info({ host: config.mcp.host, port: mcp.port }, 'mcp is ready');
await stop;
await closeAndExit(mcp);
