import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { retryUntilAvailable } from '#shared/concurrency/retry-until-available.ts';
import type { Logger } from '#shared/core/logger.ts';
import { addMemoryBudgetMetrics, createMetrics } from '#shared/core/metrics.ts';
import type { Config } from '#shared/process/config.ts';
import { serveMetrics } from '#shared/process/health-server.ts';
import { startToolCalls } from '../ai-tools/runner.ts';
import { startImportJobs } from '../bundles/jobs/runner.ts';
import type { ApiContext } from '../context/context.ts';
import { type ConnectionLimit, limitConnections } from '../http/limits/connections.ts';
import { createStartingResponses } from '../http/response/starting.ts';
import { refuseTooMany, refuseUnreadable } from '../http/response/unreadable.ts';
import type { RouteGroup } from '../http/route/route.ts';
import { createGateway } from '../realtime/gateway.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { addAPIMetrics } from './metrics.ts';
import { createApiContext, type OwnedApiContext } from './open-context.ts';
import { routeGroups } from './routes.ts';
import { createApp, createServer } from './server.ts';

export interface Api extends AsyncDisposable {
  readonly port: number;
  readonly context: ApiContext;
  readonly metricsPort: number | null;
}

/**
 * Starts the API. It listens at once and says that it is not ready until Postgres can be reached. Disposing it finishes the requests
 * under way and closes everything.
 */
export async function startApi({ config, logger }: { config: Config; logger: Logger }): Promise<Api> {
  await using resources = new AsyncDisposableStack();
  const early = await listenEarly(resources, config.http, { config, logger });
  const { server, connections, port } = early;
  const context = await early.openContext();
  const registry = openOnce(context, routeGroups);
  context.access.toolRights.use(registry);
  early.serveWith(createApp(context, routeGroups));
  resources.use(createGateway({ server, context, watch: context.watch, connections }));
  resources.use(startImportJobs(context));
  resources.use(startToolCalls(context, registry));
  resources.defer(() => context.drain());
  const served = await serveContextMetrics(resources, { name: 'api', context, config, logger });

  const owned = resources.move();
  return {
    port,
    context,
    metricsPort: served?.port ?? null,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Loads the registry of tools at its first use: most processes never need it. */
function openOnce(context: ApiContext, groups: readonly RouteGroup<ApiContext>[]): () => Promise<ToolRegistry> {
  let opened: Promise<ToolRegistry> | undefined;
  return () => {
    opened ??= import('../tools/registry.ts').then(({ createToolRegistry }) => createToolRegistry(context, groups));
    return opened;
  };
}

interface Settings {
  config: Config;
  logger: Logger;
}

interface Early {
  server: Server;
  connections: ConnectionLimit;
  port: number;
  /** Waits until Postgres can be reached. The context is closed after the server, which needs it for requests under way. */
  openContext(): Promise<OwnedApiContext>;
  /** Replaces the first listener, which answers every request with "not ready". */
  serveWith(listener: RequestListener): void;
}

/** Listens before there is anything to answer with. */
export async function listenEarly(
  resources: AsyncDisposableStack,
  { host, port }: { host: string; port: number },
  { config, logger }: Settings,
): Promise<Early> {
  let opened: OwnedApiContext | undefined;
  // Deferred before the server, so that the context is closed after it although it is opened later.
  resources.defer(async () => opened?.[Symbol.asyncDispose]());
  const starting = createStartingResponses();
  let listener: RequestListener = starting.respond;
  const server = createServer((request, response) => {
    if (connections.admits(request, response)) listener(request, response);
    else refuseTooMany(request, response);
  });
  const onRefused = () => opened?.requests.refusals.note({ code: 'RATE_LIMITED', status: 429, reason: 'connections' });
  const connections = limitConnections(server, config.http, onRefused);
  refuseUnreadable(server);
  server.listen(port, host);
  await once(server, 'listening');
  // Part of the shutdown time is kept for closing the resources of the requests.
  resources.defer(() => close(server, config.shutdownMs * 0.75));
  return {
    server,
    connections,
    // A TCP server's address is never a string.
    port: (server.address() as AddressInfo).port,
    async openContext() {
      const open = () => createApiContext(config, logger);
      opened = await retryUntilAvailable(open, { logger, onUnavailable: starting.noteAway });
      return opened;
    },
    serveWith(next) {
      listener = next;
    },
  };
}

/** Serves the metrics of a context, if the configuration has a place for them. */
export async function serveContextMetrics(
  resources: AsyncDisposableStack,
  { name, context, config, logger }: Settings & { name: 'api' | 'mcp'; context: OwnedApiContext },
): Promise<{ port: number } | null> {
  const metrics = createMetrics(logger);
  resources.use(addAPIMetrics(metrics, name, context));
  addMemoryBudgetMetrics(metrics, context.requests.bytes);
  return config.metrics && resources.use(await serveMetrics(metrics, config.metrics, logger));
}

/** No new connections, requests under way are answered, and a connection is closed as soon as it is idle. */
async function close(server: Server, timeoutMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const timeout = setTimeout(() => server.closeAllConnections(), timeoutMs);
  await closed;
  clearInterval(idle);
  clearTimeout(timeout);
}
