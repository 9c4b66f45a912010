import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Config } from '#shared/config.ts';
import type { Logger } from '#shared/logger.ts';
import { addHeldBytes, createMetrics, serveMetrics } from '#shared/metrics.ts';
import { untilReachable } from '#shared/until-reachable.ts';
import { type ApiContext, createApiContext, type OwnedApiContext } from '../context.ts';
import { limitConnections } from '../http/connections.ts';
import { createStarting } from '../http/starting.ts';
import { answerTooMany, answerUnreadable } from '../http/unreadable.ts';
import { close } from '../listen.ts';
import { addAPIMetrics } from '../metrics.ts';
import { createServer } from '../server.ts';
import { createMCPApp } from './app.ts';

export interface MCP extends AsyncDisposable {
  readonly port: number;
  readonly metricsPort: number | null;
}

export interface MCPOptions {
  config: Config;
  logger: Logger;
  /** Of the API in the same process. Absent: the service opens one of its own, and serves metrics. */
  context?: ApiContext;
}

/** Starts the MCP service. As the API does, it listens at once and is not ready until Postgres can be reached. */
export async function startMCP({ config, logger, context: given }: MCPOptions): Promise<MCP> {
  await using resources = new AsyncDisposableStack();
  let opened: OwnedApiContext | undefined;
  // Closed after the server, which is opened before it.
  resources.defer(async () => opened?.[Symbol.asyncDispose]());
  const starting = createStarting();
  let listener: RequestListener = starting.answer;
  const server = createServer((request, response) => {
    if (connections.admits(request, response)) listener(request, response);
    else answerTooMany(response);
  });
  const onRefused = () => opened?.refusals.note({ code: 'RATE_LIMITED', status: 429, reason: 'connections' });
  const connections = limitConnections(server, config.http, onRefused);
  answerUnreadable(server);
  server.listen(config.mcp.port, config.mcp.host);
  await once(server, 'listening');
  resources.defer(() => close(server, config.shutdownMs * 0.75));
  if (!given)
    opened = await untilReachable(() => createApiContext(config, logger), { logger, onAway: starting.noteAway });
  const context = given ?? opened;
  if (!context) throw new Error('There is no context');
  const app = createMCPApp(context);
  // The process of the API is asked for the tools of few, and starts without describing them.
  if (!given) app.describe();
  resources.defer(() => app.close());
  listener = app.listener;
  resources.defer(() => opened?.drain());
  const served = opened && config.metrics && resources.use(await serveOwnMetrics(opened, config.metrics, logger));

  const owned = resources.move();
  return {
    // A TCP server's address is never a string.
    port: (server.address() as AddressInfo).port,
    metricsPort: served?.port ?? null,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function serveOwnMetrics(context: OwnedApiContext, place: NonNullable<Config['metrics']>, logger: Logger) {
  await using resources = new AsyncDisposableStack();
  const metrics = createMetrics(logger);
  resources.use(addAPIMetrics(metrics, context));
  addHeldBytes(metrics, context.bytes);
  const { port } = resources.use(await serveMetrics(metrics, place, logger));
  const owned = resources.move();
  return { port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
