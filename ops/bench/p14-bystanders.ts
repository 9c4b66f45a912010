import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { newID } from '#shared/core/ids.ts';
import { type BenchEnvironment, noopChain, percentile } from './environment.ts';
import type { Figure, Row } from './row.ts';

const WIDTH = 1000;
/** One tenant alone is not given so many slots. */
const CALLERS = 10;
const CALLS = 5;
const BUSY = CALLERS * CALLS;
const DELAYS = 10_000;
const SETTINGS = { SANDBOX_PROCESSES: '2', OUTBOUND_ALLOW: '127.0.0.0/8' };
/** A fifth of the slots is reserved for short nodes, so this many leave `BUSY` for requests. */
const SLOTS_WITH_RESERVE = { WORKER_SLOTS: '63' };
/** A part that does not end within this time fails. */
const TIMEOUT_MS = 60_000;

/**
 * The cost of the runs of one tenant to another: delays that end together, delays that end all the time, a no-op beside a wide run, and
 * no-ops after the loss of a busy worker. Each part has a deployment of its own. `value` is in ms, `floor` is the mark, and `ratio`
 * must not be above 1.
 */
export const p14: readonly Row[] = [
  async (environment) => {
    await environment.startWorker(SETTINGS);
    const times = await delays(environment, DELAYS, 1000);
    const figure = `${DELAYS} delays due within a second: the last resumes`;
    return [await present(environment, { figure, times, value: Math.max(...times), mark: 10_000 })];
  },
  async (environment) => {
    await environment.startWorker(SETTINGS);
    const times = await delays(environment, 2000, 20_000);
    const figure = '100 delays due each second: lateness, p99';
    return [await present(environment, { figure, times, value: percentile(times, 99), mark: 200 })];
  },
  async (environment) => {
    const times = await besideWideRun(environment);
    const figure = `a no-op beside a run of ${WIDTH} busy nodes of another tenant: the slowest`;
    return [await present(environment, { figure, times, value: Math.max(...times), mark: 1000 })];
  },
  async (environment) => {
    const times = await afterLoss(environment);
    const figure = `no-ops while a worker with ${BUSY} busy slots is lost: p99`;
    return [await present(environment, { figure, times, value: percentile(times, 99), mark: 1000 })];
  },
];

interface Measured {
  figure: string;
  times: readonly number[];
  value: number;
  mark: number;
}

async function present(environment: BenchEnvironment, { figure, times, value, mark }: Measured): Promise<Figure> {
  const [p50, p99, max] = [percentile(times, 50), percentile(times, 99), Math.max(...times)].map(Math.round);
  return {
    figure,
    value: Math.round(value),
    unit: 'ms',
    floor: mark,
    ratio: Number((value / mark).toFixed(3)),
    settings: { ...(await environment.settings()), runs: times.length, p50, p99, max },
  };
}

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
  await environment.startWorker(SETTINGS);
  const names = Array.from({ length: WIDTH }, (_, index) => `busy${index}`);
  const code = 'const end = Date.now() + 40; while (Date.now() < end); return 1;';
  const versionID = await environment.saveGraph(
    [{ id: 'start', type: 'start', data: {} }, ...names.map((id) => ({ id, type: 'javascript', data: { code } }))],
    names.map((id) => ({ id: `e.${id}`, source: 'start', target: id, sourceHandle: 'output' })),
  );
  await accept(environment, environment.tenantID, versionID);
  return noopsFor(environment, 15_000, 500);
}

/** Fills the slots of a worker with slow requests of several tenants, starts a second worker, and kills the first. */
async function afterLoss(environment: BenchEnvironment): Promise<number[]> {
  const settings = { ...SETTINGS, ...SLOTS_WITH_RESERVE };
  const first = await environment.startWorker(settings);
  await using server = await silentServer();
  for (let caller = 1; caller <= CALLERS; caller += 1) {
    const url = `http://127.0.0.${caller}:${server.port}/`;
    const tenantID = await addTenant(environment);
    const versionID = await environment.saveGraph(
      [
        { id: 'start', type: 'start', data: {} },
        { id: 'call', type: 'http', data: { method: 'GET', url } },
      ],
      [{ id: 'e', source: 'start', target: 'call', sourceHandle: 'output' }],
      {},
      tenantID,
    );
    for (let call = 0; call < CALLS; call += 1) await accept(environment, tenantID, versionID);
  }
  await until(`${BUSY} requests`, async () => server.requests >= BUSY);
  await environment.startWorker(settings);
  process.kill(first, 'SIGKILL');
  return noopsFor(environment, 50_000, 50);
}

/** Starts a no-op of a further tenant at intervals, and answers how long each took from its acceptance to its end, in ms. */
async function noopsFor(environment: BenchEnvironment, forMs: number, everyMs: number): Promise<number[]> {
  const { pool } = environment;
  const tenantID = await addTenant(environment);
  const { nodes, edges } = noopChain(1);
  const versionID = await environment.saveGraph(nodes, edges, {}, tenantID);
  const deadline = Date.now() + forMs;
  let count = 0;
  for (; Date.now() < deadline; count += 1) {
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

/** A tenant of a creator of its own. */
async function addTenant({ pool }: BenchEnvironment): Promise<string> {
  const id = newID();
  await pool.query('insert into tenant (id, tenant_title, creator_id) values ($1, $2, $3)', [id, 'bench', newID()]);
  return id;
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

function finished({ pool }: Pick<BenchEnvironment, 'pool'>, versionID: string, count: number): Promise<void> {
  return until(`the end of ${count} runs`, async () => {
    const { rows } = await pool.query(
      'select from workflow_instance where version_id = $1 and completed_at is not null offset $2 limit 1',
      [versionID, count - 1],
    );
    return rows.length > 0;
  });
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + TIMEOUT_MS;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`There was not ${what} within ${TIMEOUT_MS / 1000} s`);
    await sleep(200);
  }
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
  insert into workflow_instance (id, tenant_id, version_id, status, wake_at, started_at, deadline_at, caller, seq, epoch, held_length)
  select id, $1::uuid, $2::uuid, 'WAITING', due_at, now(), now() + interval '1 day', '{"type":"system","id":"bench","origin":"direct"}', 3, 1, 2 from made
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
