import { Agent, request } from 'node:http';
import { post, signIn, startApi, startServer } from './api-process.ts';
import { type BenchEnvironment, noopChain, percentile } from './environment.ts';
import type { Row } from './row.ts';
import { spending } from './spending.ts';

const CLIENTS = 50;
const SECONDS = Number(process.env.BENCH_SECONDS ?? 8);
const WARM_SECONDS = 3;

/** `GET` one workflow by 50 clients at once, and a bare Express with `pg` that asks the same of the same Postgres. */
export const p10: Row = async (environment) => {
  const { tenantID, saveGraph, saveWorkflow } = environment;
  const { nodes, edges } = noopChain(9);
  const workflowID = await saveWorkflow(await saveGraph(nodes, edges));
  await using ours = await startApi(environment);
  await using bare = await startServer(environment, 'ops/bench/p10-bare.ts');
  const credential = await keyFor(environment, ours.url);
  const path = `/api/v1/tenants/${tenantID}/workflows/${workflowID}`;
  const get = {
    ours: { url: `${ours.url}${path}`, credential },
    bare: { url: `${bare.url}/workflows/${workflowID}`, credential },
  };
  // Alternating, so that a slow minute of the machine slows both.
  const rounds = [];
  for (const seconds of [WARM_SECONDS, SECONDS, SECONDS])
    rounds.push({ bare: await load(get.bare, bare.pid, seconds), ours: await load(get.ours, ours.pid, seconds) });
  const [, ...counted] = rounds;
  const mean = (which: 'bare' | 'ours', what: 'rate' | 'processorMs') =>
    counted.reduce((sum, round) => sum + (round[which][what] ?? 0), 0) / counted.length;
  const [value, floor] = [Math.round(mean('ours', 'rate')), Math.round(mean('bare', 'rate'))];
  return [
    {
      value,
      unit: 'requests/s',
      floor,
      ratio: Number((value / floor).toFixed(3)),
      settings: {
        ...(await environment.settings()),
        clients: CLIENTS,
        seconds: SECONDS,
        // Distinguishes two versions also on a machine that has other work.
        processorMs: Number(mean('ours', 'processorMs').toFixed(3)),
        bareProcessorMs: Number(mean('bare', 'processorMs').toFixed(3)),
        p99Ms: counted.at(-1)?.ours.p99,
        bareP99Ms: counted.at(-1)?.bare.p99,
      },
    },
  ];
};

/** The caller: an API key that may read workflows. */
async function keyFor(environment: BenchEnvironment, url: string): Promise<Record<string, string>> {
  const user = await signIn(environment, url);
  const { apiKey } = await post<{ apiKey: { key: string } }>(
    `${url}/api/v1/tenants/${environment.tenantID}/apikeys`,
    user,
    { apiKeyName: 'Measured', apiKeyPermissions: ['workflow.read'] },
  );
  return { 'x-api-key': apiKey.key };
}

/** Each client asks again as soon as it is answered, on a connection of its own. */
async function load(target: { url: string; credential: Record<string, string> }, pid: number, seconds: number) {
  const spent = await spending({ server: pid });
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const times: number[] = [];
  const end = performance.now() + seconds * 1_000;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (performance.now() < end) {
        const began = performance.now();
        await get(target, agent);
        times.push(performance.now() - began);
      }
    }),
  );
  agent.destroy();
  const { server: processorMs } = await spent(times.length);
  return { rate: times.length / seconds, processorMs, p99: Number(percentile(times, 99).toFixed(1)) };
}

function get({ url, credential }: { url: string; credential: Record<string, string> }, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, { agent, headers: credential }, (response) => {
      response.resume();
      response.once('end', () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`)),
      );
    })
      .once('error', reject)
      .end();
  });
}
