import { startApi, startServer } from './api-process.ts';
import { startClients } from './clients.ts';
import { noopChain } from './environment.ts';
import { aWebhook } from './listener.ts';
import type { Row } from './row.ts';
import { spending } from './spending.ts';

const CLIENTS = 200;
const DELIVERIES = Number(process.env.BENCH_DELIVERIES ?? 10_000);
const TIMEOUT_SECONDS = 120;
/** Payload of about the size that a payment service sends. */
const BODY = JSON.stringify({ id: 'evt_1', type: 'payment.succeeded', data: { amount: 1999, note: 'x'.repeat(700) } });

/** A burst of deliveries, each answered when it is stored. The floor is a bare Express route with a grouped insert. No worker. */
export const p6: Row = async (environment) => {
  const { nodes, edges } = noopChain(1);
  const workflowID = await environment.saveWorkflow(await environment.saveGraph(nodes, edges));
  await using api = await startApi(environment);
  const listenerID = await aWebhook(environment, { workflowID, config: {} });
  await using bare = await startServer(environment, 'ops/bench/p6-bare.ts');
  await using clients = startClients();
  const burst = (url: string, count: number) =>
    clients.load({
      url,
      headers: {},
      clients: CLIENTS,
      seconds: TIMEOUT_SECONDS,
      count,
      body: BODY,
      answer: '"eventID"',
    });
  const targets = { ours: `${api.url}/webhooks/v1/inbound/${listenerID}`, bare: `${bare.url}/deliveries` };
  for (const url of Object.values(targets)) await burst(url, DELIVERIES / 4);

  // Alternating, so that a slow minute of the machine slows both.
  const bareFirst = await burst(targets.bare, DELIVERIES);
  const spent = await spending({ api: api.pid });
  const ours = await burst(targets.ours, DELIVERIES);
  const msPerDelivery = await spent(ours.runs);
  const bareLast = await burst(targets.bare, DELIVERIES);
  const { rows } = await environment.pool.query<{ n: number }>('select count(*)::int as n from listener_event');
  const lost = DELIVERIES / 4 + DELIVERIES - (rows[0]?.n ?? 0);
  const rate = (measured: { runs: number; seconds: number }) => measured.runs / measured.seconds;
  const [value, floor] = [Math.round(rate(ours)), Math.round((rate(bareFirst) + rate(bareLast)) / 2)];
  const settings = {
    ...(await environment.settings()),
    clients: CLIENTS,
    deliveries: DELIVERIES,
    bodyBytes: BODY.length,
    p50: ours.p50,
    p99: ours.p99,
    bareP99: bareLast.p99,
    lost,
    msPerDelivery,
  };
  return [{ value, unit: 'deliveries/s', floor, ratio: Number((value / floor).toFixed(3)), settings }];
};
