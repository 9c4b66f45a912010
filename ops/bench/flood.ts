import { setTimeout as sleep } from 'node:timers/promises';
import { post, type ServerProcess, signIn, startApi } from './api-process.ts';
import { startClients } from './clients.ts';
import { noopChain, percentile } from './environment.ts';
import type { Figure, Row } from './row.ts';
import { processorMs } from './spending.ts';

const CLIENTS = Number(process.env.BENCH_CLIENTS ?? 400);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 8);
const BODY_BYTES = 400_000;
/** Between two requests of the neighbour. */
const PAUSE_MS = 20;

/**
 * 400 clients of one user, each of which asks again as soon as it is answered, and a neighbour who reads a workflow of another tenant,
 * again and again. One figure for each kind of request: the p99 of the neighbour; the floor is the same without the flood.
 */
export const flood: Row = async (environment) => {
  const { tenantID, saveGraph, saveWorkflow } = environment;
  const { nodes, edges } = noopChain(9);
  const workflowID = await saveWorkflow(await saveGraph(nodes, edges));
  await using api = await startApi(environment);
  const headers = await signIn(environment, api.url);
  const path = `${api.url}/api/v1/tenants/${tenantID}/workflows`;
  const kinds = {
    'reads of one workflow': { url: `${path}/${workflowID}`, method: 'GET' },
    'bodies that are refused': { url: path, body: graphOf('faulty') },
    'bodies that are saved': { url: path, body: graphOf('right') },
    'executions with large inputs': { url: `${path}/${workflowID}/execute`, body: JSON.stringify({ args: { list } }) },
    'pages of large workflows': { url: `${path}?pageSize=20`, method: 'GET' },
  } as const;
  const neighbour = await aNeighbour(api);
  await using clients = startClients();
  const until = Date.now() + 3_000;
  await neighbour(() => Date.now() > until);

  const figures: Figure[] = [];
  for (const [figure, request] of Object.entries(kinds)) {
    const end = Date.now() + SECONDS * 1_000;
    const alone = await neighbour(() => Date.now() > end);
    let isOver = false;
    const measuring = neighbour(() => isOver);
    const load = { ...request, headers, clients: CLIENTS, seconds: SECONDS, mayRefuse: true };
    const { runs, p50, p99 } = await clients.load(load);
    isOver = true;
    const beside = await measuring;
    figures.push({
      figure,
      value: beside.p99,
      unit: 'ms',
      floor: alone.p99,
      ratio: Number((beside.p99 / alone.p99).toFixed(2)),
      settings: {
        ...(await environment.settings()),
        clients: CLIENTS,
        ofFlood: { answers: runs, p50, p99 },
        ofNeighbour: { alone, beside },
      },
    });
  }
  return figures;
};

/** Asks until it is over, and answers how long each request took; beside it, what the process of the API did in the meantime. */
async function aNeighbour({ url, pid }: ServerProcess) {
  const { token } = await post<{ token: string }>(`${url}/dev/token`, {}, { email: 'neighbour@example.com' });
  const headers = { authorization: `Bearer ${token}` };
  const { tenant } = await post<{ tenant: { id: string } }>(`${url}/api/v1/tenants`, headers, {
    tenantTitle: 'Beside',
  });
  const path = `${url}/api/v1/tenants/${tenant.id}/workflows`;
  const { workflow } = await post<{ workflow: { id: string } }>(path, headers, { title: 'Read' });

  return async (isOver: () => boolean) => {
    const times: number[] = [];
    const processor: number[] = [];
    let refused = 0;
    while (!isOver()) {
      const began = performance.now();
      const before = (await processorMs(pid)) ?? 0;
      const response = await fetch(`${path}/${workflow.id}`, { headers });
      await response.bytes();
      if (!response.ok) refused += 1;
      times.push(performance.now() - began);
      processor.push(((await processorMs(pid)) ?? 0) - before);
      await sleep(PAUSE_MS);
    }
    const of = (values: readonly number[], p: number) => Number(percentile(values, p).toFixed(1));
    return {
      ...{ answers: times.length, refused, p50: of(times, 50), p99: of(times, 99) },
      // Distinguishes two versions also on a machine that has other work.
      processorMs: { p50: of(processor, 50), p99: of(processor, 99) },
    };
  };
}

const list = Array.from({ length: BODY_BYTES / 8 }, (_, n) => ({ a: n % 10 }));

/** A workflow whose node is at fault, or has a large body to send. */
function graphOf(kind: 'faulty' | 'right'): string {
  const start = { id: 'start', type: 'start', data: {} };
  const http = { id: 'http', type: 'http', data: { url: 'https://example.com', method: 'POST', body: list } };
  const nodes = kind === 'right' ? [start, http] : [start, ...list];
  const edges = [{ id: 'e', source: 'start', target: 'http', sourceHandle: 'output' }];
  return JSON.stringify({ title: 'Large', nodes, edges });
}
