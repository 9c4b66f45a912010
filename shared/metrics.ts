import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, type OpenMetricsContentType, Registry } from 'prom-client';
import type { Pool } from './db/pool.ts';
import type { Logger } from './logger.ts';

/** One value of a metric; with labels, one for each combination. */
export interface Sample {
  labels?: Readonly<Record<string, string>>;
  value: number;
}

interface Definition {
  name: `gantry_${string}`;
  help: string;
  /** A counter only rises while the process lives. */
  kind: 'gauge' | 'counter';
  labels?: readonly string[];
}

/** Metrics of a process. Their values are read at each scrape, so what is counted costs nothing between scrapes. */
export interface Metrics {
  add(definition: Definition, read: () => Iterable<Sample> | Promise<Iterable<Sample>>): void;
  readonly registry: Registry<OpenMetricsContentType>;
}

export function createMetrics(): Metrics {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);

  return {
    registry,
    add({ name, help, kind, labels = [] }, read) {
      const options = { name, help, labelNames: [...labels], registers: [registry] };
      if (kind === 'gauge') {
        const gauge = new Gauge({
          ...options,
          async collect() {
            gauge.reset();
            for (const { labels: of = {}, value } of await read()) gauge.set({ ...of }, value);
          },
        });
      } else {
        const counter = new Counter({
          ...options,
          async collect() {
            counter.reset();
            for (const { labels: of = {}, value } of await read()) counter.inc({ ...of }, value);
          },
        });
      }
    },
  };
}

/** Adds what every process has: the delay of its event loop, and its pools of connections. */
export function addProcessMetrics(metrics: Metrics, pools: Readonly<Record<string, Pool>>): Disposable {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  metrics.add(
    {
      name: 'gantry_event_loop_delay_seconds',
      help: 'Delay of the event loop since the scrape before',
      kind: 'gauge',
      labels: ['quantile'],
    },
    () => {
      const samples = [50, 99].map((percent) => ({
        labels: { quantile: String(percent / 100) },
        value: delay.percentile(percent) / 1e9,
      }));
      delay.reset();
      return samples;
    },
  );
  metrics.add(
    {
      name: 'gantry_pool_connections',
      help: 'Connections of a pool, and callers that wait for one',
      kind: 'gauge',
      labels: ['pool', 'state'],
    },
    () =>
      Object.entries(pools).flatMap(([pool, { totalCount, idleCount, waitingCount }]) => [
        { labels: { pool, state: 'used' }, value: totalCount - idleCount },
        { labels: { pool, state: 'idle' }, value: idleCount },
        { labels: { pool, state: 'waiting' }, value: waitingCount },
      ]),
  );
  return { [Symbol.dispose]: () => void delay.disable() };
}

export interface MetricsListener extends AsyncDisposable {
  readonly port: number;
}

/** Serves `GET /metrics`. The listener is apart from the API's, whose address tenants know. */
export async function serveMetrics(
  { registry }: Metrics,
  { host, port }: { host: string; port: number },
  logger: Logger,
): Promise<MetricsListener> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      (error: unknown) => {
        logger.warn({ err: error }, 'metrics not read');
        response.writeHead(503).end();
      },
    );
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    // A TCP server's address is never a string.
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
