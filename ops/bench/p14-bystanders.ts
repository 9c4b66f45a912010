import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { newID } from '#shared/ids.ts';
import { type BenchEnvironment, noopChain, percentile } from './environment.ts';
import type { Figure, Row } from './row.ts';

const WIDTH = 1000;
const BUSY = 50;
const DELAYS = 10_000;
const WORKER_SETTINGS = { SANDBOX_PROCESSES: '2', OUTBOUND_ALLOW: '127.0.0.0/8' };

/**
 * What the runs of one tenant cost another: a no-op beside a wide run, no-ops after the loss of a busy worker, and delays that end
 * together. `value` is in ms, `floor` is the mark, and `ratio` must not be above 1.
 */
export const p14: Row = async (environment) => {
  const settings = await environment.settings();
  const figure = (name: string, times: readonly number[], value: number, mark: number): Figure => ({
    figure: name,
    value: Math.round(value),
    unit: 'ms',
    floor: mark,
    ratio: Number((value / mark).toFixed(3)),
    settings: {
      ...settings,
      runs: times.length,
      p50: Math.round(percentile(times, 50)),
      p99: Math.round(percentile(times, 99)),
    },
  });
  const first = await environment.startWorker(WORKER_SETTINGS);

  const together = await delays(environment, DELAYS, 1000);
  const spread = await delays(environment, 2000, 20_000);
  const wide = await besideWideRun(environment);
  await endAll(environment);
  const lost = await afterLoss(environment, first);
  return [
    figure(`${DELAYS} delays due within a second: the last resumes`, together, Math.max(...together), 10_000),
    figure('100 delays due each second: lateness, p99', spread, percentile(spread, 99), 200),
    figure(`a no-op beside a run of ${WIDTH} busy nodes of another tenant: the slowest`, wide, Math.max(...wide), 1000),
    figure(`no-ops while a worker with ${BUSY} busy slots is lost: p99`, lost, percentile(lost, 99), 1000),
  ];
};

/** Writes runs parked on a delay, due evenly over `overMs`, and answers how late each was resumed, in ms. */
async function delays(
  { pool, tenantID, saveGraph }: BenchEnvironment,
  count: number,
  overMs: number,
): Promise<number[]> {
  const { nodes, edges } = noopChain(1);
  const versionID = await saveGraph(
    [...nodes, { id: 'wait', type: 'delay', data: { delayMinutes: 60 } }],
    [
      { id: 'w', source: 'start', target: 'wait', sourceHandle: 'output' },
      ...edges.map((edge) => ({ ...edge, source: 'wait' })),
    ],
  );
  await pool.query(PARK, [tenantID, versionID, count, overMs / 1000]);
  await finished({ pool }, versionID, count);
  const { rows } = await pool.query<{ late_ms: number }>(LATENESS, [versionID]);
  return rows.map(({ late_ms }) => late_ms);
}

async function besideWideRun(environment: BenchEnvironment): Promise<number[]> {
  const names = Array.from({ length: WIDTH }, (_, index) => `busy${index}`);
  const code = 'const end = Date.now() + 40; while (Date.now() < end); return 1;';
  const versionID = await environment.saveGraph(
    [{ id: 'start', type: 'start', data: {} }, ...names.map((id) => ({ id, type: 'javascript', data: { code } }))],
    names.map((id) => ({ id: `e.${id}`, source: 'start', target: id, sourceHandle: 'output' })),
  );
  await accept(environment, environment.tenantID, versionID);
  return noopsFor(environment, 15_000, 500);
}

/** Fills the slots of the first worker with slow requests, starts a second one, and kills the first. */
async function afterLoss(environment: BenchEnvironment, first: number): Promise<number[]> {
  await using server = await silentServer();
  for (let index = 0; index < BUSY; index += 1) {
    const url = `http://127.0.0.${index + 1}:${server.port}/`;
    const versionID = await environment.saveGraph(
      [
        { id: 'start', type: 'start', data: {} },
        { id: 'call', type: 'http', data: { method: 'GET', url } },
      ],
      [{ id: 'e', source: 'start', target: 'call', sourceHandle: 'output' }],
    );
    await accept(environment, environment.tenantID, versionID);
  }
  while (server.requests < BUSY) await sleep(50);
  await environment.startWorker(WORKER_SETTINGS);
  process.kill(first, 'SIGKILL');
  return noopsFor(environment, 50_000, 50);
}

/** Starts a no-op of a further tenant at intervals, and answers how long each took from its acceptance to its end, in ms. */
async function noopsFor(environment: BenchEnvironment, forMs: number, everyMs: number): Promise<number[]> {
  const { pool } = environment;
  const tenantID = newID();
  await pool.query('insert into tenant (id, tenant_title, creator_id) values ($1, $2, $3)', [
    tenantID,
    'bystander',
    newID(),
  ]);
  const { nodes, edges } = noopChain(1);
  const versionID = await environment.saveGraph(nodes, edges);
  const until = Date.now() + forMs;
  let count = 0;
  for (; Date.now() < until; count += 1) {
    await accept(environment, tenantID, versionID);
    await sleep(everyMs);
  }
  await finished({ pool }, versionID, count);
  const { rows } = await pool.query<{ ms: number }>(
    'select extract(epoch from completed_at - created_at)::float8 * 1000 as ms from workflow_instance where version_id = $1',
    [versionID],
  );
  return rows.map(({ ms }) => ms);
}

async function accept({ runs }: BenchEnvironment, tenantID: string, versionID: string): Promise<void> {
  await runs.accept({
    tenantID,
    workflowID: null,
    versionID,
    caller: { type: 'system', id: tenantID, origin: 'direct' },
    input: {},
    timeoutMs: 3_600_000,
  });
}

async function finished({ pool }: Pick<BenchEnvironment, 'pool'>, versionID: string, count: number): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ n: number }>(
      'select count(*)::int as n from workflow_instance where version_id = $1 and completed_at is not null',
      [versionID],
    );
    if (rows[0]?.n === count) return;
    await sleep(200);
  }
}

async function endAll({ pool, runs }: BenchEnvironment): Promise<void> {
  const { rows } = await pool.query<{ id: string }>('select id from workflow_instance where completed_at is null');
  await runs.end({ tenantID: null, ids: rows.map(({ id }) => id), status: 'CANCELLED', error: null });
}

/** Accepts requests and never answers. */
async function silentServer() {
  let requests = 0;
  const server = createServer(() => {
    requests += 1;
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  return {
    // A TCP server's address is never a string.
    port: (server.address() as AddressInfo).port,
    get requests() {
      return requests;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

// As the engine leaves them when they park, three seconds before the first is due.
const PARK = `
with made as (
  select uuidv7() as id, now() + make_interval(secs => 3 + $4::float8 * n / $3::int) as due_at from generate_series(1, $3::int) n
),
runs as (
  insert into workflow_instance (id, tenant_id, version_id, status, wake_at, started_at, deadline_at, caller, seq, epoch)
  select id, $1::uuid, $2::uuid, 'WAITING', due_at, now(), now() + interval '1 day', '{"type":"system","id":"bench","origin":"direct"}', 3, 1 from made
),
events as (
  insert into run_event (instance_id, seq, node_id, status, exit, payload)
  select id, e.* from made, lateral (values
    (1, 'start', 'SUCCESS', 'output', '{"output":{}}'::jsonb),
    (2, 'wait', 'RUNNING', null, null),
    (3, 'wait', 'SUSPENDED', null, jsonb_build_object('wait', 'time', 'dueAt', due_at))) e
)
insert into run_wait (instance_id, node_id, kind, due_at) select id, 'wait', 'time', due_at from made`;

const LATENESS = `
select extract(epoch from done.created_at - (parked.payload->>'dueAt')::timestamptz)::float8 * 1000 as late_ms
from workflow_instance i
join run_event parked on parked.instance_id = i.id and parked.seq = 3
join run_event done on done.instance_id = i.id and done.node_id = 'wait' and done.status = 'SUCCESS'
where i.version_id = $1`;
