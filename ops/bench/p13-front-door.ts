import { signIn, startApi } from './api-process.ts';
import { serialRun } from './bare-runs.ts';
import { startClients } from './clients.ts';
import { type BenchEnvironment, noopChain } from './environment.ts';
import type { Figure, Row } from './row.ts';
import { runAll } from './run-all.ts';
import { spending } from './spending.ts';

const CLIENTS = [1, 50, 200];
const SECONDS = Number(process.env.BENCH_SECONDS ?? 8);
const WARM_SECONDS = 4;
const STEPS = 10;
/** Runs of the engine alone, before and after each load. */
const RUNS_ALONE = 1_500;

/**
 * `execute?wait=30` over HTTP by identity token, of a workflow of ten nodes whose outcomes are recorded one by one. The floor is
 * the same workflow by the engine alone, in the same minutes.
 */
export const p13: Row = async (environment) => {
  const { nodes, edges } = noopChain(STEPS - 1);
  const versionID = await environment.saveGraph(nodes, edges, { durability: 'node' });
  const workflowID = await environment.saveWorkflow(versionID);
  const workerPid = await environment.startWorker();
  await using api = await startApi(environment);
  const headers = await signIn(environment, api.url);
  const url = `${api.url}/api/v1/tenants/${environment.tenantID}/workflows/${workflowID}/execute?wait=30`;
  await using client = startClients();
  const load = (clients: number, seconds: number) => client.load({ url, headers, clients, seconds });
  await load(50, WARM_SECONDS);
  await engineAlone(environment, versionID);
  // Its statements one after the other, without an engine: the insert and ten commits wait for the disk.
  const { run: aloneMs } = await serialRun(environment, versionID, STEPS);

  const figures: Figure[] = [];
  for (const clients of CLIENTS) {
    const before = await engineAlone(environment, versionID);
    const spent = await spending({ api: api.pid, worker: workerPid });
    const { runs, seconds, ...times } = await load(clients, SECONDS);
    const msPerRun = await spent(runs);
    const after = await engineAlone(environment, versionID);
    const [value, floor] = [Math.round(runs / seconds), Math.round((before + after) / 2)];
    figures.push({
      figure: `${clients} ${clients === 1 ? 'client' : 'clients'}`,
      value,
      unit: 'runs/s',
      floor,
      ratio: Number((value / floor).toFixed(3)),
      settings: { ...(await environment.settings()), seconds: SECONDS, ...times, msPerRun, aloneMs },
    });
  }
  return figures;
};

/** Runs/s of the engine without the API. */
async function engineAlone(environment: BenchEnvironment, versionID: string): Promise<number> {
  return RUNS_ALONE / (await runAll(environment, versionID, RUNS_ALONE));
}
