import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { alive, bodyOf, createStarting, type Readiness, type Starting, sendJSON } from './readiness.ts';

/** Pages of a process about itself: `/health`, `/ready` and `/metrics`. They are not at the address of the API, which tenants know. */
export interface ProcessPages extends AsyncDisposable, Pick<Starting, 'noteAway' | 'noteWaiting'> {
  readonly port: number;
  /** Opens the pages when the process has started. Without `readReadiness`, `/ready` is not served here: the process has it elsewhere. */
  open(sources: Sources): void;
}

interface Sources {
  metrics: Pick<Metrics, 'registry'>;
  readReadiness?: () => Promise<Readiness>;
}

/** Listens at once. Until it is opened, the process is alive, not ready, and has no metrics. */
export async function servePages(
  { host, port }: { host: string; port: number },
  logger: Logger,
): Promise<ProcessPages> {
  const starting = createStarting();
  let sources: Sources | undefined;

  const pages: Record<string, (response: Parameters<RequestListener>[1]) => Promise<void>> = {
    async '/health'(response) {
      sendJSON(response, 200, alive());
    },
    async '/ready'(response) {
      if (sources && !sources.readReadiness) return void response.writeHead(404).end();
      const readiness = (await sources?.readReadiness?.()) ?? starting.readiness;
      sendJSON(response, readiness.isReady ? 200 : 503, bodyOf(readiness));
    },
    async '/metrics'(response) {
      if (!sources) return void response.writeHead(503).end();
      const { registry } = sources.metrics;
      const text = await registry.metrics();
      response.writeHead(200, { 'content-type': registry.contentType }).end(text);
    },
  };

  const server = createServer((request, response) => {
    const page = request.method === 'GET' && Object.hasOwn(pages, request.url ?? '') && pages[request.url ?? ''];
    if (!page) return void response.writeHead(404).end();
    page(response).catch((error: unknown) => {
      logger.warn({ err: error, page: request.url }, 'page of the process not read');
      response.writeHead(503).end();
    });
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    // A TCP server's address is never a string.
    port: (server.address() as AddressInfo).port,
    noteAway: starting.noteAway,
    noteWaiting: starting.noteWaiting,
    open(from) {
      sources = from;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Serves `GET /metrics` of a process that is open. */
export async function serveMetrics(
  metrics: Metrics,
  listenAddress: { host: string; port: number },
  logger: Logger,
): Promise<ProcessPages> {
  const pages = await servePages(listenAddress, logger);
  pages.open({ metrics });
  return pages;
}
