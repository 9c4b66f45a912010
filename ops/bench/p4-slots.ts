import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { startClients } from './clients.ts';
import type { Served } from './p4-server.ts';
import type { Row } from './row.ts';
import { runAll } from './run-all.ts';

const RUNS = Number(process.env.P4_RUNS ?? 10_000);
const ANSWER_MS = 100;
const CALLS = 100;
/** With so many slots the tenants of one creator get 100 for calls: a fifth is reserved for short nodes, and a fifth of the rest for other creators. */
const SLOTS = 156;

/**
 * Runs of one `http` node whose server answers after 100 ms, all at one origin, by one worker. The floor is 100 calls at any time, from
 * the first that reaches the server to the last answer, each of the length that the server has measured.
 */
export const p4: Row = async (environment) => {
  await using server = await startServer();
  const versionID = await environment.saveGraph(
    [
      { id: 'start', type: 'start', data: {} },
      { id: 'call', type: 'http', data: { method: 'GET', url: server.origin } },
    ],
    [{ id: 'e', source: 'start', target: 'call', sourceHandle: 'output' }],
  );
  await environment.startWorker({ WORKER_SLOTS: String(SLOTS), OUTBOUND_ALLOW: '127.0.0.0/8' });
  await runAll(environment, versionID, Math.ceil(RUNS / 20));
  await server.measure();
  const seconds = await runAll(environment, versionID, RUNS);
  const gantry = figuresOf(await server.measure());
  await using clients = startClients();
  const calls = { url: server.origin, method: 'GET' as const, headers: {}, clients: CALLS, seconds: 60, answer: '{}' };
  await clients.load({ ...calls, count: Math.ceil(RUNS / 5) });
  const bareClient = figuresOf(await server.measure());
  return [
    {
      value: gantry.callsPerSecond,
      unit: 'calls/s',
      floor: Math.round(gantry.callsPerSecond / gantry.share),
      ratio: gantry.share,
      settings: {
        ...(await environment.settings()),
        runs: RUNS,
        workerSlots: SLOTS,
        ...gantry,
        fromAcceptanceToEndSeconds: Number(seconds.toFixed(2)),
        /** The same calls by a client without an engine, in a process of its own, 100 at a time. */
        bareClient,
      },
    },
  ];
};

function figuresOf({ seconds, answered, openSeconds, mostAtOnce }: Served) {
  const callsPerSecond = Math.round(answered / seconds);
  return {
    callsPerSecond,
    /** Calls open at the server, on average, of those that may be. */
    share: Number((openSeconds / seconds / CALLS).toFixed(3)),
    /** The share of the calls that would fit if the server answered in time. */
    ofExactAnswers: Number((callsPerSecond / ((CALLS * 1_000) / ANSWER_MS)).toFixed(3)),
    callMs: Number(((openSeconds / answered) * 1_000).toFixed(2)),
    mostAtOnce,
  };
}

async function startServer() {
  const child = fork(join(import.meta.dirname, 'p4-server.ts'), [String(ANSWER_MS)]);
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('The server ended')));
  const answer = async <T>(): Promise<T> => {
    const [message] = await Promise.race([once(child, 'message'), ended]);
    // Sent by our own file as this type.
    return message as T;
  };
  ended.catch(() => undefined);
  const origin = await answer<string>();
  return {
    origin,
    measure(): Promise<Served> {
      const measured = answer<Served>();
      child.send('measure');
      return measured;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
    },
  };
}
