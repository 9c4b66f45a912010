import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Row } from './row.ts';
import { runAll } from './run-all.ts';

const RUNS = Number(process.env.P4_RUNS ?? 10_000);
const ANSWER_MS = 100;
const PLACES = 100;
/** Of so many slots the tenants of one creator get 100 for calls: a fifth is kept for short nodes, and a fifth of the rest for other creators. */
const SLOTS = 156;

/**
 * Runs of one `http` node whose server answers after 100 ms, all at one origin, by one worker. The floor is 100 calls at any time, from
 * the first that reaches the server to the last answer.
 */
export const p4: Row = async (environment) => {
  await using server = await slowServer();
  const versionID = await environment.saveGraph(
    [
      { id: 'start', type: 'start', data: {} },
      { id: 'call', type: 'http', data: { method: 'GET', url: server.origin } },
    ],
    [{ id: 'e', source: 'start', target: 'call', sourceHandle: 'output' }],
  );
  await environment.startWorker({ WORKER_SLOTS: String(SLOTS), OUTBOUND_ALLOW: '127.0.0.0/8' });
  await runAll(environment, versionID, Math.ceil(RUNS / 20));
  server.measure();
  const seconds = await runAll(environment, versionID, RUNS);
  const gantry = server.measure();
  await bareClient(server.origin, Math.ceil(RUNS / 5));
  const bare = server.measure();
  const floor = (PLACES * 1_000) / ANSWER_MS;
  return [
    {
      value: Math.round(gantry.perSecond),
      unit: 'calls/s',
      floor,
      ratio: Number((gantry.perSecond / floor).toFixed(3)),
      settings: {
        ...(await environment.settings()),
        runs: RUNS,
        workerSlots: SLOTS,
        mostAtOnce: gantry.most,
        fromAcceptanceToEndSeconds: Number(seconds.toFixed(2)),
        /** The same calls by a client without an engine, 100 at a time. */
        bareClient: { callsPerSecond: Math.round(bare.perSecond), ratio: Number((bare.perSecond / floor).toFixed(3)) },
      },
    },
  ];
};

async function bareClient(origin: string, calls: number): Promise<void> {
  let left = calls;
  const loop = async () => {
    while (left > 0) {
      left -= 1;
      await (await fetch(origin)).arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: PLACES }, loop));
}

/** Answers each request after its time, and counts them. */
async function slowServer() {
  let [first, last, answered, open, most] = [0, 0, 0, 0, 0];
  const server = createServer(async (_request, response) => {
    first ||= performance.now();
    open += 1;
    most = Math.max(most, open);
    await sleep(ANSWER_MS);
    response.end('{}');
    open -= 1;
    answered += 1;
    last = performance.now();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // A TCP server's address is never a string.
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Calls since the last measurement: how many were answered in a second, and how many were open at once. */
    measure() {
      const figures = { perSecond: (answered * 1_000) / (last - first), most };
      [first, last, answered, most] = [0, 0, 0, 0];
      return figures;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
