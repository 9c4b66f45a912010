import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, type OpenMetricsContentType, Registry } from 'prom-client';
import type { Logger } from './logger.ts';

/** One value of a metric; with labels, one for each combination. */
export interface Sample {
  labels?: Readonly<Record<string, string>>;
  value: number;
}

export interface Definition {
  name: `gantry_${string}`;
  help: string;
  /** A counter only rises while the process lives. */
  kind: 'gauge' | 'counter';
  labels?: readonly string[];
}

type Read = () => Iterable<Sample> | Promise<Iterable<Sample>>;

/** Metrics of a process. Their values are read at each scrape, so what is counted costs nothing between scrapes. */
export interface Metrics {
  add(definition: Definition, read: Read): void;
  readonly registry: Registry<OpenMetricsContentType>;
}

export function createMetrics(logger: Logger): Metrics {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);

  /** Reads a metric. If that fails, because a server is away or does not answer, the page lacks this metric and has all others. */
  async function readable(name: string, read: Read): Promise<Iterable<Sample>> {
    try {
      return await withTimeout(Promise.resolve(read()));
    } catch (error) {
      logger.debug({ err: error, metric: name }, 'metric not read');
      return [];
    }
  }

  return {
    registry,
    add({ name, help, kind, labels = [] }, read) {
      const options = { name, help, labelNames: [...labels], registers: [registry] };
      if (kind === 'gauge') {
        const gauge = new Gauge({
          ...options,
          async collect() {
            gauge.reset();
            for (const { labels: own = {}, value } of await readable(name, read)) gauge.set({ ...own }, value);
          },
        });
      } else {
        const counter = new Counter({
          ...options,
          async collect() {
            counter.reset();
            for (const { labels: own = {}, value } of await readable(name, read)) counter.inc({ ...own }, value);
          },
        });
      }
    },
  };
}

/** Shorter than monitoring systems wait for a page. */
const READ_MS = 3_000;

async function withTimeout<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${READ_MS} ms`)), READ_MS);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Adds the label `process`: one page may show a child process beside its parent. */
export function inProcess(metrics: Pick<Metrics, 'add'>, process: string): Pick<Metrics, 'add'> {
  return {
    add({ labels = [], ...definition }, read) {
      metrics.add({ ...definition, labels: ['process', ...labels] }, async () => labelled(await read(), process));
    },
  };
}

function labelled(samples: Iterable<Sample>, process: string): Sample[] {
  return [...samples].map(({ labels, value }) => ({ labels: { process, ...labels }, value }));
}

/** Samples by the name of their metric, as a child process sends them to its parent. */
export type MetricsReport = Readonly<Record<string, readonly Sample[]>>;

/** Metrics of a child process, which its parent serves. */
export function createReportedMetrics(): Pick<Metrics, 'add'> & { report(): Promise<MetricsReport> } {
  const reads = new Map<string, Read>();
  return {
    add: ({ name }, read) => void reads.set(name, read),
    async report() {
      const samples = [...reads].map(async ([name, read]) => [name, [...(await read())]] as const);
      return Object.fromEntries(await Promise.all(samples));
    },
  };
}

/** Adds the last report of a child to each metric of its parent. */
export function withChild(
  metrics: Pick<Metrics, 'add'>,
  { parent, child, report }: { parent: string; child: string; report(): MetricsReport },
): Pick<Metrics, 'add'> {
  return {
    add({ labels = [], ...definition }, read) {
      metrics.add({ ...definition, labels: ['process', ...labels] }, async () => [
        ...labelled(await read(), parent),
        ...labelled(report()[definition.name] ?? [], child),
      ]);
    },
  };
}

/** Connections of a pool, as `pg` counts them. */
export interface PoolState {
  totalCount: number;
  idleCount: number;
  waitingCount: number;
}

/** Interval of the timer that measures the event loop: in an idle loop the measured delay is this interval. */
const RESOLUTION_MS = 10;

/** Adds the metrics that every process has: the delay of its event loop, and its connection pools. */
export function addProcessMetrics(
  metrics: Pick<Metrics, 'add'>,
  pools: () => Readonly<Record<string, PoolState>>,
): Disposable {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  metrics.add(
    {
      name: 'gantry_event_loop_delay_seconds',
      help: 'Delay of the event loop since the scrape before',
      kind: 'gauge',
      labels: ['quantile'],
    },
    () => {
      const samples = [50, 99, 100].map((percent) => ({
        labels: { quantile: String(percent / 100) },
        value: Math.max(0, delay.percentile(percent) / 1e9 - RESOLUTION_MS / 1000),
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
      Object.entries(pools()).flatMap(([pool, { totalCount, idleCount, waitingCount }]) => [
        { labels: { pool, state: 'used' }, value: totalCount - idleCount },
        { labels: { pool, state: 'idle' }, value: idleCount },
        { labels: { pool, state: 'waiting' }, value: waitingCount },
      ]),
  );
  return { [Symbol.dispose]: () => void delay.disable() };
}

/** Adds metrics of a memory budget: the bytes of bodies and answers in memory, and the number of waits for bytes. */
export function addMemoryBudgetMetrics(
  metrics: Metrics,
  bytes: { readonly used: number; readonly waiting: number },
): void {
  metrics.add(
    { name: 'gantry_held_bytes', help: 'Bytes of bodies and answers that the process holds', kind: 'gauge' },
    () => [{ value: bytes.used }],
  );
  metrics.add(
    { name: 'gantry_held_bytes_waiting', help: 'Requests and nodes that wait for such bytes', kind: 'gauge' },
    () => [{ value: bytes.waiting }],
  );
}
