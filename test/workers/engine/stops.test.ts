import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { countActive } from '#test/support/database.ts';
import { aDataQuery, aTenant, aWorkflow, type TestTenant } from '#test/support/factories.ts';
import { code, graph } from '#test/support/graphs.ts';
import { type HTTPServer, startHTTP } from '#test/support/http-server.ts';
import { readSeries, scrape } from '#test/support/metrics.ts';
import { eventually } from '#test/support/settle.ts';
import type { WorkerContext } from '#workers/process/worker.ts';

let cluster: Cluster;
let worker: WorkerContext;
let tenant: TestTenant;
/** Takes requests and never answers. */
let silent: HTTPServer;
const mark = `stopped_${newID().replaceAll('-', '')}`;
beforeAll(async () => {
  // With one process for code, nothing else is computed while a piece of code spins.
  cluster = await startCluster({ workers: 0, settings: { SANDBOX_PROCESSES: '1', METRICS_PORT: '0' } });
  worker = await cluster.startWorker();
  tenant = await aTenant(cluster);
  silent = await startHTTP(() => undefined);
});
afterAll(async () => {
  await silent[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

/** Work that goes on because of runs: none of it may go on a second after their stop. */
interface Business {
  openRuns: number;
  nodes: number;
  code: number;
  requests: number;
  queries: number;
}

const idle: Business = { openRuns: 0, nodes: 0, code: 0, requests: 0, queries: 0 };

async function business(): Promise<Business> {
  const { rows } = await cluster.pool.query<{ n: number }>(
    'select count(*)::int as n from workflow_instance where completed_at is null',
  );
  const { text } = await scrape(worker.metricsPort);
  const used = (queue: string) => readSeries(text, `gantry_places{process="worker",lane="${queue}",state="used"}`) ?? 0;
  return {
    openRuns: rows[0]?.n ?? 0,
    nodes: used('nodes'),
    code: used('sandbox'),
    requests: silent.seen.length - silent.abandoned(),
    queries: await countActive(mark),
  };
}

type Node = { type: string; [field: string]: unknown };

const call = (): Node => ({ type: 'http', url: silent.origin, timeoutSeconds: 600 });
const repeating = (type: string): Record<string, Node> => ({
  node: { type, sourceVariable: [1, 2, 3] },
  body: call(),
});

/** The nodes of a run for each kind that lasts, and what goes on while it does. */
const lasting: Record<string, { nodes(): Promise<Record<string, Node>>; while: Partial<Business> }> = {
  http: { nodes: async () => ({ node: call() }), while: { openRuns: 1, nodes: 1, requests: 1 } },
  dataQuery: {
    async nodes() {
      const { id: dataQueryID } = await aDataQuery(cluster, { tenant, query: `select pg_sleep(300) as ${mark}` });
      return { node: { type: 'dataQuery', dataQueryID, timeoutSeconds: 600 } };
    },
    while: { openRuns: 1, nodes: 1, queries: 1 },
  },
  javascript: {
    nodes: async () => ({ node: code('while (true) {}', { timeoutSeconds: 600 }) }),
    while: { openRuns: 1, nodes: 1, code: 1 },
  },
  subWorkflow: {
    async nodes() {
      const shape = graph({ start: { type: 'start' }, call: call() }, ['start>call']);
      const child = await aWorkflow(cluster, { tenant, ...shape });
      return { node: { type: 'subWorkflow', childWorkflowID: child.id, timeoutSeconds: 600 } };
    },
    while: { openRuns: 2, nodes: 1, requests: 1 },
  },

  map: { nodes: async () => repeating('map'), while: { openRuns: 4, nodes: 3, requests: 3 } },
  loop: { nodes: async () => repeating('loop'), while: { openRuns: 1, nodes: 1, requests: 1 } },
  delay: { nodes: async () => ({ node: { type: 'delay', delayMinutes: 5 } }), while: { openRuns: 1 } },
  'short delay': {
    nodes: async () => ({ node: { type: 'delay', delaySeconds: 1, delayMs: 900 } }),
    while: { openRuns: 1 },
  },
  approval: { nodes: async () => ({ node: { type: 'approval' } }), while: { openRuns: 1 } },
  dataCollection: {
    nodes: async () => ({ node: { type: 'dataCollection', fields: [{ key: 'a', fieldType: 'text' }] } }),
    while: { openRuns: 1 },
  },
  waitForEvent: {
    nodes: async () => ({ node: { type: 'waitForEvent', eventName: 'paid', eventKey: '7' } }),
    while: { openRuns: 1 },
  },
};

beforeEach(async () => {
  // Runs of an earlier test would count.
  const { rows } = await cluster.pool.query<{ id: string }>(
    'select id from workflow_instance where completed_at is null',
  );
  await cluster.runs.end({ tenantID: null, ids: rows.map(({ id }) => id), status: 'CANCELLED', error: null });
});

test.each(Object.keys(lasting))(
  'a run that is stopped amid a node takes all of it along within a second: %s',
  async (kind) => {
    const { nodes, while: expected } = lasting[kind] ?? expect.fail();
    const all = await nodes();
    const edges = 'body' in all ? ['start>node', `node:${kind}>body`] : ['start>node'];
    const { id } = await aWorkflow(cluster, { tenant, ...graph({ start: { type: 'start' }, ...all }, edges) });
    const api = cluster.as(tenant.creator).in(tenant);
    const { instanceID } = (await api.post(`T/workflows/${id}/execute`)).body;
    await eventually(async () => expect(await business()).toEqual({ ...idle, ...expected }));

    const ms = await timeOf(async () => {
      expect((await api.delete(`T/workflows/instances/${instanceID}/stop`)).status).toBe(200);
      await eventually(async () => expect(await business()).toEqual(idle));
    });

    expect(ms).toBeLessThan(1_000);
    const { rows } = await cluster.pool.query<{ status: string }>(
      'select distinct status from workflow_instance where id = $1 or parent_id = $1',
      [instanceID],
    );
    expect(rows).toEqual([{ status: 'CANCELLED' }]);
  },
);

test('code runs again where endless code was stopped', async () => {
  const shape = graph({ start: { type: 'start' }, sum: code('return 1 + 1;') }, ['start>sum']);
  const { id } = await aWorkflow(cluster, { tenant, ...shape });
  const api = cluster.as(tenant.creator).in(tenant);

  expect((await api.post(`T/workflows/${id}/execute?wait=30`)).body.status).toBe('COMPLETED');
});

const TICK_MS = 10;

/** Milliseconds of the work, without those in which others had the processor and this process had no turn. */
async function timeOf(work: () => Promise<void>): Promise<number> {
  let rounds = 0;
  const over = new AbortController();
  const counted = (async () => {
    while (!over.signal.aborted) {
      const began = performance.now();
      await sleep(TICK_MS);
      rounds += Math.min(performance.now() - began, 2 * TICK_MS);
    }
  })();
  await work();
  over.abort();
  await counted;
  return rounds;
}
