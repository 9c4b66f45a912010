import { startApi } from './api-process.ts';
import { startClients } from './clients.ts';
import { aWebhook } from './listener.ts';
import type { Row } from './row.ts';
import { runAll } from './run-all.ts';
import { spending } from './spending.ts';

const CLIENTS = 200;
const SECONDS = Number(process.env.BENCH_SECONDS ?? 8);
const WARM_SECONDS = 4;
const RUNS_ALONE = 3_000;

/**
 * A webhook that answers with the result of its workflow: one `set` node. The floor is the same workflow by the engine alone, in the
 * same minutes. n8n in queue mode has 72 requests/s on two cores.
 */
export const p5: Row = async (environment) => {
  const edge = (source: string, target: string, sourceHandle: string) => ({
    id: `${source}-${target}`,
    source,
    target,
    sourceHandle,
  });
  const versionID = await environment.saveGraph(
    [
      { id: 'start', type: 'start', data: {} },
      {
        id: 'answer',
        type: 'set',
        data: { assignments: [{ name: 'state', value: 'COMPLETED' }], outputVariable: 'answer' },
      },
      {
        id: 'end',
        type: 'end',
        data: { outputParameters: [{ id: '1', name: 'body', sourceVariable: '{{ctx.answer}}' }] },
      },
    ],
    [edge('start', 'answer', 'output'), edge('answer', 'end', 'output')],
  );
  const workflowID = await environment.saveWorkflow(versionID);
  const worker = await environment.startWorker();
  await using api = await startApi(environment);
  const listenerID = await aWebhook(environment, { workflowID, config: { answerMode: 'result' } });
  await using clients = startClients();
  const url = `${api.url}/webhooks/v1/inbound/${listenerID}`;
  const load = (seconds: number) => clients.load({ url, headers: {}, clients: CLIENTS, seconds });

  await load(WARM_SECONDS);
  const before = RUNS_ALONE / (await runAll(environment, versionID, RUNS_ALONE));
  const spent = await spending({ api: api.pid, worker });
  const { runs, seconds, ...times } = await load(SECONDS);
  const msPerDelivery = await spent(runs);
  const after = RUNS_ALONE / (await runAll(environment, versionID, RUNS_ALONE));
  const [value, floor] = [Math.round(runs / seconds), Math.round((before + after) / 2)];
  const settings = { ...(await environment.settings()), clients: CLIENTS, seconds: SECONDS, ...times, msPerDelivery };
  return [{ value, unit: 'requests/s', floor, ratio: Number((value / floor).toFixed(3)), settings }];
};
