import { fork } from 'node:child_process';
import { on } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { post, type ServerProcess, startServer } from './api-process.ts';
import { type BenchEnvironment, percentile } from './environment.ts';
import type { Watched, Watching } from './p11-clients.ts';
import type { Row } from './row.ts';

const CLIENTS = Number(process.env.P11_CLIENTS ?? 1_000);
const RUNS = Number(process.env.P11_RUNS ?? 100);
const NODES = 30;
const NODE_MS = 500;
/** Measured separately: a worker and two API processes that have just started, and have not watched a run, run code that is not compiled yet. */
const COLD_MS = 3_000;
/** A user may have 100 sockets in one process, which all meet in the one that is left. */
const USERS = 20;
const MARK_MS = 100;

/**
 * Clients of two API processes watch runs; in the middle one process is killed, and its clients go on at the other. Every change must
 * arrive once and in order; the latency is from the time in the event, by the same clock, before the kill. All runs begin at once and wait
 * equally long, so their changes come in bursts of hundreds.
 */
export const p11: Row = async (environment) => {
  const versionID = await environment.saveGraph(
    [
      { id: 'start', type: 'start', data: {} },
      ...Array.from({ length: NODES }, (_, n) => ({ id: `n${n}`, type: 'delay', data: { delayMs: NODE_MS } })),
    ],
    Array.from({ length: NODES }, (_, n) => ({
      ...{ id: `e${n}`, source: n === 0 ? 'start' : `n${n - 1}`, target: `n${n}`, sourceHandle: 'output' },
    })),
  );
  const workflowID = await environment.saveWorkflow(versionID);
  const settings = { CONNECTIONS_PER_ADDRESS: '10000', USER_REQUESTS_PER_MINUTE: '0' };
  await using killed = await startServer(environment, 'api/main.ts', settings);
  await using left = await startServer(environment, 'api/main.ts', settings);
  const tokens = await signInMany(environment, left.url);
  // The runs are accepted and wait for the worker, so that clients have joined before the first change.
  const runs = await executeMany(left.url, { tenantID: environment.tenantID, workflowID, token: tokens[0] ?? '' });
  const clients = fork(join(import.meta.dirname, 'p11-clients.ts'));
  try {
    const watching: Watching = { urls: [killed.url, left.url], tokens, runs, clients: CLIENTS, coldMs: COLD_MS };
    clients.send(watching);
    const watched = await told(clients, async () => {
      await environment.startWorker({ WORKER_SLOTS: String(2 * RUNS) });
      await sleep((NODES * NODE_MS) / 2);
      process.kill(killed.pid, 'SIGKILL');
    });
    const { whole, moved, changes, latenciesMs, coldMs } = watched;
    if (whole < CLIENTS)
      throw new Error(`${CLIENTS - whole} of ${CLIENTS} clients lost changes or were told them twice`);
    if (moved === 0) throw new Error('The process was killed too late: no client was connected to it');
    const p99 = percentile(latenciesMs, 99);
    const counts = { clients: CLIENTS, runs: RUNS, moved, changes, measured: latenciesMs.length };
    return [
      {
        ...{ value: p99, unit: 'ms, p99 from the event to its client', floor: MARK_MS },
        ratio: Number((p99 / MARK_MS).toFixed(3)),
        settings: {
          ...{ ...(await environment.settings()), ...counts, p50: percentile(latenciesMs, 50) },
          coldP99: percentile(coldMs, 99),
        },
      },
    ];
  } finally {
    clients.kill('SIGTERM');
  }
};

type Clients = ReturnType<typeof fork>;

async function told(clients: Clients, onJoined: () => Promise<void>): Promise<Watched> {
  const ended = new AbortController();
  clients.once('exit', () => ended.abort(new Error('The clients ended')));
  for await (const [message] of on(clients, 'message', { signal: ended.signal })) {
    // Sent by our own file as these types.
    const sent = message as { kind: 'joined' } | Watched;
    if (sent.kind === 'watched') return sent;
    await onJoined();
  }
  throw new Error('The clients ended');
}

/** The tokens of members who may do everything in the tenant. */
async function signInMany({ pool, tenantID }: BenchEnvironment, url: ServerProcess['url']): Promise<string[]> {
  const tokens: string[] = [];
  for (let n = 0; n < USERS; n += 1) {
    const { token } = await post<{ token: string }>(`${url}/dev/token`, {}, { email: `bench${n}@example.com` });
    await fetch(`${url}/api/v1/auth`, { headers: { authorization: `Bearer ${token}` } });
    tokens.push(token);
  }
  await pool.query('insert into membership (tenant_id, user_id) select $1, id from app_user', [tenantID]);
  await pool.query(
    `insert into policy_rule (id, tenant_id, kind, subject, object, action)
     select gen_random_uuid(), $1, 'rule', id, '*', '*' from app_user`,
    [tenantID],
  );
  return tokens;
}

interface Executing {
  tenantID: string;
  workflowID: string;
  token: string;
}

async function executeMany(url: string, { tenantID, workflowID, token }: Executing): Promise<string[]> {
  const path = `${url}/api/v1/tenants/${tenantID}/workflows/${workflowID}/execute`;
  const runs: string[] = [];
  for (let n = 0; n < RUNS; n += 1)
    runs.push((await post<{ instanceID: string }>(path, { authorization: `Bearer ${token}` }, {})).instanceID);
  return runs;
}
