import type { Logger } from '#shared/core/logger.ts';
import type { Config } from '#shared/process/config.ts';
import { listenEarly, serveContextMetrics } from '../app/listen.ts';
import type { ApiContext } from '../context/context.ts';
import { createMCPApp } from './app.ts';

export interface MCP extends AsyncDisposable {
  readonly port: number;
  readonly metricsPort: number | null;
}

export interface MCPOptions {
  config: Config;
  logger: Logger;
  /** The context of the API in the same process. Absent: the service opens one of its own, and serves metrics. */
  context?: ApiContext;
}

/** Starts the MCP service. As the API does, it listens at once and is not ready until Postgres can be reached. */
export async function startMCP({ config, logger, context: apiContext }: MCPOptions): Promise<MCP> {
  await using resources = new AsyncDisposableStack();
  const early = await listenEarly(resources, config.mcp, { config, logger });
  const opened = apiContext ? undefined : await early.openContext();
  const context = apiContext ?? opened;
  if (!context) throw new Error('There is no context');
  const app = createMCPApp(context);
  // An API process serves few MCP clients, so it starts without describing the tools.
  if (!apiContext) await app.describe();
  resources.defer(() => app.close());
  early.serveWith(app.listener);
  resources.defer(() => opened?.drain());
  const served = opened && (await serveContextMetrics(resources, { name: 'mcp', context: opened, config, logger }));

  const owned = resources.move();
  return {
    port: early.port,
    metricsPort: served?.port ?? null,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
