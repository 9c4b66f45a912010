import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { redisURL } from '#test/support/backplane.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph, noop } from '#test/support/graphs.ts';
import { type Spawned, spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { createChaosClient, eventKey } from '../chaos/client.ts';
import { judge, openRuns } from '../chaos/judge.ts';
import { findLeft } from '../chaos/left.ts';
import { answerQuestions } from '../chaos/person.ts';
import { eventsOf, type PlannedRun, planProgram } from '../chaos/program.ts';
import { startCounterService } from '../chaos/service.ts';
import { startWorld } from '../chaos/world.ts';
import { startRedis } from '../servers/redis.ts';

const LEASE = { WORKER_SESSION_SECONDS: '2', WORKER_SLOTS: '20' };

/** Waits without using the processor, so that a kill hits runs in progress. */
const slow = graph(
  {
    start: { type: 'start' },
    a: { type: 'delay', delayMs: 150 },
    b: noop,
    c: { type: 'delay', delayMs: 150 },
    d: code('return ctx.input.n + 1;'),
    end: { type: 'end', outputParameters: [{ name: 'n', sourceVariable: '{{ctx.scriptResult}}' }] },
  },
  ['start>a', 'a>b', 'b:yes>c', 'c>d', 'd:success>end'],
);

async function worker(deployment: Deployment): Promise<Spawned> {
  const before = await countLeases(deployment);
  const spawned = spawnNode(['workers/main.ts'], deployment.env);
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

test('R1: workers are killed repeatedly under load, and every run ends once', async () => {
  await using deployment = await startDeployment(LEASE);
  const versionID = await deployment.saveVersion(slow);
  await using workers = new AsyncDisposableStack();
  let victim = workers.use(await worker(deployment));
  workers.use(await worker(deployment));

  const ids = await many(deployment, versionID, 300);
  for (let i = 0; i < 4; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 700));
    await victim.kill('SIGKILL');
    victim = workers.use(await worker(deployment));
  }

  await balances(deployment, ids);
});

test('R2: Redis loses all data, then dies and comes back empty, and no accepted run is lost', async ({ skip }) => {
  if (!redisURL) skip('only the Redis backplane has a Redis to lose');
  const dir = await mkdtemp(join(tmpdir(), 'gantry-r2-'));
  await using redis = await startRedis({ dir });
  await using deployment = await startDeployment({ ...LEASE, REDIS_URL: redis.url });
  await using _worker = await worker(deployment);
  const versionID = await deployment.saveVersion(slow);

  const first = await many(deployment, versionID, 150);
  await new Promise((resolve) => setTimeout(resolve, 400));
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
  const second = await many(deployment, versionID, 50);
  await redis.kill9();
  // Redis is down and Postgres is up: the run is accepted all the same.
  const began = Date.now();
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID, { n: 1 }));
  expect(Date.now() - began).toBeLessThan(1_000);
  await redis.restart();

  await balances(deployment, [...first, ...second, instanceID]);
  await rm(dir, { recursive: true, force: true });
});

test('R3: Postgres is away for longer than a lease, the API says so and recovers, and no acknowledged run is lost', async () => {
  const leaseSeconds = 2;
  const shapes = planProgram(3, { seconds: 1, isRedis: false }).shapes;
  const runs = Array.from({ length: 60 }, (_, n): PlannedRun => {
    return { shape: n % shapes.length, n, fate: { kind: 'end' }, eventsAfterMs: 0 };
  });
  await using service = await startCounterService();
  await using world = await startWorld({ isRedis: redisURL !== undefined, leaseSeconds });
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
  await sleep(1_500);
  const away = world.cause({ kind: 'stop postgres', atMs: 0, forMs: leaseSeconds * 2_500 });
  await eventually(async () => {
    const { status, retryAfter } = await asked();
    expect(status).toBe(503);
    expect(retryAfter).toBeGreaterThan(0);
  }, leaseSeconds * 2_500);
  await away;

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
  await using deployment = await startDeployment(LEASE);
  const versionID = await deployment.saveVersion(slow);
  await using stopped = await worker(deployment);
  const ids = await many(deployment, versionID, 20);
  await eventually(async () => {
    const { rows } = await deployment.pool.query('select from workflow_instance where held_by is not null');
    expect(rows.length).toBeGreaterThan(5);
  });

  await stopped.kill('SIGSTOP');
  await using _other = await worker(deployment);
  await balances(deployment, ids);
  const before = await deployment.pool.query('select id, epoch, seq from workflow_instance order by id');
  await stopped.kill('SIGCONT');
  await new Promise((resolve) => setTimeout(resolve, 1500));

  await balances(deployment, ids);
  expect((await deployment.pool.query('select id, epoch, seq from workflow_instance order by id')).rows).toEqual(
    before.rows,
  );
});

test('R5: at SIGTERM a worker hands its runs back at once and exits 0, and another worker finishes them', async () => {
  await using deployment = await startDeployment({ ...LEASE, WORKER_SESSION_SECONDS: '30' });
  const versionID = await deployment.saveVersion(slow);
  await using leaving = await worker(deployment);
  const ids = await many(deployment, versionID, 40);
  await eventually(async () => {
    const { rows } = await deployment.pool.query('select from workflow_instance where held_by is not null');
    expect(rows.length).toBeGreaterThan(5);
  });

  const began = Date.now();
  expect(await leaving.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(Date.now() - began).toBeLessThan(5000);
  const { rows } = await deployment.pool.query('select from workflow_instance where held_by is not null');
  expect(rows).toEqual([]);

  await using _other = await worker(deployment);
  await balances(deployment, ids);
  const { rows: lossy } = await deployment.pool.query('select from workflow_instance where losses > 0');
  expect(lossy).toEqual([]);
});

test.each(['before-enqueue', 'after-enqueue'])('R6: an API process killed %s loses no run', async (point) => {
  await using deployment = await startDeployment(LEASE);
  const versionID = await deployment.saveVersion(slow);
  await using _worker = await worker(deployment);
  const run = deployment.newRun(versionID, { n: 1 });

  await using api = spawnNode(['test/flows/accept-and-die.ts', point, JSON.stringify(run)], deployment.env);
  await eventually(() => expect(api.child.signalCode).toBe('SIGKILL'));

  const { rows } = await deployment.pool.query<{ id: string }>('select id from workflow_instance');
  expect(rows).toHaveLength(1);
  await balances(
    deployment,
    rows.map(({ id }) => id),
  );
});
