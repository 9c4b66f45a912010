import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph } from '#test/support/graphs.ts';
import { type GatedServer, startGated } from '#test/support/held-server.ts';
import { type Spawned, spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { createChaosClient, eventKey } from '../chaos/client.ts';
import { judge, openRuns } from '../chaos/judge.ts';
import { findLeft } from '../chaos/left.ts';
import { answerQuestions } from '../chaos/person.ts';
import { eventsOf, type PlannedRun, planProgram } from '../chaos/program.ts';
import { startCounterService } from '../chaos/service.ts';
import { startWorld } from '../chaos/world.ts';
import { findRedis, startRedis } from '../servers/redis.ts';

const SLOTS = 20;
/** A Redis of its own is started for the tests in which a store is lost, on either backplane. */
const redisPath = (await findRedis()).path;
const LEASE = { WORKER_SESSION_SECONDS: '2', WORKER_SLOTS: String(SLOTS) };

/** Calls the service, which holds its answers for as long as the runs are to be under way. */
function calling({ origin }: GatedServer) {
  return graph(
    {
      start: { type: 'start' },
      call: { type: 'http', method: 'GET', url: origin },
      add: code('return ctx.input.n + 1;'),
      end: { type: 'end', outputParameters: [{ name: 'n', sourceVariable: '{{ctx.scriptResult}}' }] },
    },
    ['start>call', 'call:success>add', 'add:success>end'],
  );
}

/** Returns when the worker is amid calls in half of its slots. A tenant alone does not get all of them. */
function areCalling({ seen }: GatedServer): Promise<void> {
  return eventually(() => expect(seen.length).toBeGreaterThanOrEqual(SLOTS / 2));
}

/** A process, whose lease has begun. */
async function worker(deployment: Deployment): Promise<Spawned> {
  const before = await countLeases(deployment);
  const spawned = spawnNode(['workers/main.ts', 'workflow.runs'], deployment.env);
  await eventually(async () => expect(await countLeases(deployment)).toBeGreaterThan(before));
  return spawned;
}

async function countLeases({ pool }: Deployment): Promise<number> {
  const { rows } = await pool.query<{ n: number }>('select count(*) as n from worker_session');
  return rows[0]?.n ?? 0;
}

/** Every run completed, no finished node ran twice, and no event is missing. */
async function balances({ pool }: Deployment, ids: string[]): Promise<void> {
  await eventually(async () => {
    const { rows } = await pool.query<{ status: string; n: number }>(
      'select status, count(*) as n from workflow_instance where id = any($1::uuid[]) group by 1',
      [ids],
    );
    expect(rows).toEqual([{ status: 'COMPLETED', n: ids.length }]);
  });
  const { rows } = await pool.query<{ what: string; n: number }>(
    `select 'ran twice' as what, count(*) as n from (
       select from run_event where instance_id = any($1::uuid[]) and status = 'SUCCESS' group by instance_id, node_id, frame having count(*) > 1) twice
     union all select 'hole', count(*) from workflow_instance i where id = any($1::uuid[])
       and seq <> (select sum(1 + coalesce(jsonb_array_length(started), 0)) from run_event e where e.instance_id = i.id)
     union all select 'wrong answer', count(*) from workflow_instance where id = any($1::uuid[]) and (output->>'n')::int <> (input->>'n')::int + 1
     union all select 'wait left', count(*) from run_wait where instance_id = any($1::uuid[])`,
    [ids],
  );
  expect(rows.filter(({ n }) => n > 0)).toEqual([]);
}

function many({ newRun, runs }: Deployment, versionID: string, count: number): Promise<string[]> {
  return runs.acceptMany(Array.from({ length: count }, (_, n) => newRun(versionID, { n })));
}

test('R2: Redis loses all data, then dies and comes back empty, and no accepted run is lost', async ({ skip }) => {
  if (redisPath === null) skip('there is no Redis');
  await using resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-r2-')), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const redis = resources.use(await startRedis({ dir }));
  const service = resources.use(await startGated());
  const deployment = resources.use(await startDeployment({ ...LEASE, REDIS_URL: redis.url }));
  await deployment.startWorker();
  const versionID = await deployment.saveVersion(calling(service));

  const first = await many(deployment, versionID, 2 * SLOTS);
  await areCalling(service);
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
  const second = await many(deployment, versionID, SLOTS);
  await redis.kill9();
  // Redis is down and Postgres is up: the run is accepted all the same.
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID, { n: 1 }));
  service.open();
  await redis.restart();

  await balances(deployment, [...first, ...second, instanceID]);
});

test('R3: Postgres is away for longer than a lease, the API says so and recovers, and no acknowledged run is lost', async () => {
  const leaseSeconds = 2;
  const shapes = planProgram(3, { seconds: 1, isRedis: false }).shapes;
  const runs = Array.from({ length: 12 }, (_, n): PlannedRun => {
    return { shape: n % shapes.length, n, fate: { kind: 'end' }, eventsAfterMs: 0 };
  });
  await using service = await startCounterService();
  await using world = await startWorld({ isRedis: redisPath !== null, leaseSeconds });
  const client = await createChaosClient(world.apiURL, { shapes, serviceURL: service.url });
  await using _person = answerQuestions(world, client);
  const token = (await post(`${world.apiURL}/dev/token`, { email: 'r3@example.test' })).body.token;
  const asked = () => post(`${world.apiURL}/api/v1/tenants`, { tenantTitle: 'During the outage' }, token);

  const acknowledged = Promise.all(
    runs.map(async (run, index) => {
      const atMs = index * 100;
      const { shape } = run;
      await sleep(atMs);
      for (const event of eventsOf(shapes, shape)) await client.send({ ...event, key: eventKey(`r3-${index}`, 0) });
      const [id = ''] = await client.start({ atMs, shape, runs: [run], laterMs: 0 }, `r3-${index}`);
      return { id, run };
    }),
  );
  await eventually(async () => {
    const { rows } = await world.pool.query('select from workflow_instance where started_at is not null');
    expect(rows.length).toBeGreaterThan(2);
  });
  await world.postgres.kill9();
  await eventually(async () => {
    const { status, retryAfter } = await asked();
    expect(status).toBe(503);
    expect(retryAfter).toBeGreaterThan(0);
  });
  await sleep(leaseSeconds * 1_500);
  await world.postgres.restart();

  await eventually(async () => expect((await asked()).status).toBe(201));
  const ended = await acknowledged;
  await eventually(async () => expect(await openRuns(world.pool)).toEqual([]));
  await eventually(async () => expect(await findLeft(world.pool)).toEqual([]));
  const { handlerID, triggered } = client;
  const others = Object.values(triggered);
  const state = { shapes, acknowledged: ended, counters: service.counters, handlerID, others };
  expect(await judge(world.pool, state)).toEqual([]);
  expect(world.exits).toEqual([]);
}, 180_000);

async function post(url: string, body: object, token?: string) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });
  const retryAfter = Number(response.headers.get('retry-after'));
  return { status: response.status, retryAfter, body: (await response.json()) as { token?: string } };
}

test('R4: a worker stopped longer than its lease cannot commit afterwards, and the run finishes once', async () => {
  await using service = await startGated();
  await using deployment = await startDeployment(LEASE);
  const versionID = await deployment.saveVersion(calling(service));
  await using stopped = await worker(deployment);
  const ids = await many(deployment, versionID, SLOTS);
  await areCalling(service);

  await stopped.kill('SIGSTOP');
  await deployment.startWorker();
  // The answers to the stopped worker wait in its sockets.
  service.open();
  await balances(deployment, ids);
  const state = async () => {
    const { rows } = await deployment.pool.query(
      'select id, epoch, seq from workflow_instance where id = any($1::uuid[]) order by id',
      [ids],
    );
    return rows;
  };
  const before = await state();
  await stopped.kill('SIGCONT');
  // It takes a lease again, after which it has read its answers, and takes runs.
  await eventually(async () => expect(await countLeases(deployment)).toBe(3));
  await balances(deployment, await many(deployment, versionID, 2 * SLOTS));

  await balances(deployment, ids);
  expect(await state()).toEqual(before);
});

test('R5: at SIGTERM a worker hands its runs back at once and exits 0, and another worker finishes them', async () => {
  await using service = await startGated();
  await using deployment = await startDeployment({ ...LEASE, WORKER_SESSION_SECONDS: '30' });
  const versionID = await deployment.saveVersion(calling(service));
  await using leaving = await worker(deployment);
  const ids = await many(deployment, versionID, 2 * SLOTS);
  await areCalling(service);

  // It does not wait for the calls, which stay without an answer, and its lease would end long after the test.
  expect(await leaving.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  const { rows } = await deployment.pool.query('select from workflow_instance where held_by is not null');
  expect(rows).toEqual([]);

  service.open();
  await deployment.startWorker();
  await balances(deployment, ids);
  const { rows: lossy } = await deployment.pool.query('select from workflow_instance where losses > 0');
  expect(lossy).toEqual([]);
});

test('R6: an API process killed before or after it hands a run over loses none', async () => {
  await using service = await startGated();
  service.open();
  await using deployment = await startDeployment(LEASE);
  const versionID = await deployment.saveVersion(calling(service));
  await deployment.startWorker();
  await using processes = new AsyncDisposableStack();
  const apis = ['before-enqueue', 'after-enqueue'].map((point) => {
    const run = JSON.stringify(deployment.newRun(versionID, { n: 1 }));
    return processes.use(spawnNode(['test/flows/accept-and-die.ts', point, run], deployment.env));
  });
  await eventually(() => expect(apis.map(({ child }) => child.signalCode)).toEqual(['SIGKILL', 'SIGKILL']));

  const { rows } = await deployment.pool.query<{ id: string }>('select id from workflow_instance');
  expect(rows).toHaveLength(2);
  // A run without a job has another ten seconds after it was handed over.
  await deployment.pool.query(`update workflow_instance set dispatched_at = dispatched_at - interval '10 seconds'`);
  await balances(
    deployment,
    rows.map(({ id }) => id),
  );
});
