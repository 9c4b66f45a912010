import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { newID } from '#shared/core/ids.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph, noop, noops } from '#test/support/graphs.ts';
import { type HTTPServer, startHTTP } from '#test/support/http-server.ts';
import { readSeries, scrape } from '#test/support/metrics.ts';
import { type Spawned, spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { startStatementProxy } from '#test/support/statement-proxy.ts';
import { createClaims } from '#workers/engine/claim/claim.ts';
import { QuarantineProcess, type QuarantineStart } from '#workers/engine/recovery/quarantine.ts';

/** Real processes: what is tested is which of them dies, and what it held. */
let deployment: Deployment;
let server: HTTPServer;
/** Requests that the server has not answered yet, by path. */
let pending: { path: string; response: ServerResponse }[];
let maxPending: number;
let shared: Spawned | undefined;
let metricsPort: number;
beforeAll(async () => {
  deployment = await startDeployment({ WORKER_SESSION_SECONDS: '5' });
  metricsPort = await freePort();
  server = await startHTTP(({ url }, response) => {
    pending.push({ path: url, response });
    maxPending = Math.max(maxPending, pending.filter(({ path }) => path === '/suspect').length);
  });
});
afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await deployment[Symbol.asyncDispose]();
});
beforeEach(() => {
  pending = [];
  maxPending = 0;
});
afterEach(async () => {
  const { rows } = await deployment.pool.query<{ id: string }>(
    'select id from workflow_instance where completed_at is null',
  );
  await deployment.runs.end({ tenantID: null, ids: rows.map(({ id }) => id), status: 'CANCELLED', error: null });
});

function answer(path: string): void {
  for (const { response } of pending.filter((one) => one.path === path)) response.end('{}');
  pending = pending.filter((one) => one.path !== path);
}

const isAsked = (path: string) => pending.some((one) => one.path === path);

function calling(path: string, next?: string): Promise<string> {
  const get = (where: string) => ({ type: 'http', method: 'GET', url: `${server.origin}${where}` });
  const after = next === undefined ? noop : get(next);
  return deployment.saveVersion(
    graph({ start: { type: 'start' }, call: get(path), after }, ['start>call', 'call:success>after']),
  );
}

/** Runs that have lost a worker while `call` was in flight. */
async function crashSuspected(path: string, count: number, { next }: { next?: string } = {}): Promise<string[]> {
  const versionID = await calling(path, next);
  const ids = Array.from({ length: count }, () => newID());
  await deployment.pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, epoch, losses, seq, deadline_at, caller)
     select id, $2::uuid, $3::uuid, 'RUNNING', 2, 1, 2, now() + interval '1 hour', jsonb_build_object('type', 'system', 'id', $2::uuid, 'origin', 'direct')
     from unnest($1::uuid[]) as id`,
    [ids, deployment.tenantID, versionID],
  );
  await deployment.pool.query(
    `insert into run_event (instance_id, seq, node_id, status, exit, payload)
     select id, e.seq, e.node_id, e.status, e.exit, e.payload::jsonb from unnest($1::uuid[]) as id, (values
       (1, 'start', 'SUCCESS', 'output', '{"output":{}}'), (2, 'call', 'RUNNING', null, null)) as e(seq, node_id, status, exit, payload)`,
    [ids],
  );
  // The last change: from now on they may be claimed.
  await deployment.pool.query('update workflow_instance set ready_at = now() where id = any($1::uuid[])', [ids]);
  return ids;
}

/** The worker of the tests before, unless they have ended it. */
function aWorker(): Spawned {
  if (shared && isAlive(shared.pid)) return shared;
  shared = spawnNode(['workers/main.ts', 'workflow.runs'], {
    ...deployment.env,
    WORKER_SLOTS: '4',
    METRICS_PORT: String(metricsPort),
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
  });
  return shared;
}

/** The children of a process that run suspects. */
async function quarantineProcesses(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const pids = text.split(' ').filter(Boolean).map(Number);
  const commands = await Promise.all(pids.map((child) => readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => '')));
  return pids.filter((_, index) => commands[index]?.includes('workers/process/quarantine-main.ts'));
}

async function quarantineProcess(pid: number): Promise<number> {
  const [found] = await quarantineProcesses(pid);
  if (found === undefined) throw new Error('There is no process for suspects');
  return found;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const completed = (ids: string[]) =>
  eventually(async () => {
    const { rows } = await deployment.pool.query<{ status: string; losses: number; n: number }>(
      'select status, losses, count(*) as n from workflow_instance where id = any($1::uuid[]) group by 1, 2',
      [ids],
    );
    expect(rows).toEqual([{ status: 'COMPLETED', losses: 0, n: ids.length }]);
  });

// Before there is a worker, which would take it.
test('a crash-suspected run takes no place in the queue: it is not dispatched, and its job claims nothing', async () => {
  const [id = ''] = await crashSuspected('/suspect', 1);
  await deployment.pool.query(
    `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 10, 'room')`,
    [newID()],
  );

  await deployment.runs.dispatchQueued();
  await deployment.runs.dispatch([id]);

  expect(await deployment.read(id)).toMatchObject({ dispatched_at: null, losses: 1 });
  const { claim } = createClaims(deployment.pool, () => newID());
  expect(await claim({ instanceID: id, epoch: 3 })).toBeNull();
  await deployment.pool.query(`delete from worker_session where version = 'room'`);
});

test('twenty crash-suspected runs beside a long call run one at a time and delay no other run', async () => {
  const worker = aWorker();
  const long = await deployment.runs.accept(deployment.newRun(await calling('/long')));
  await eventually(() => expect(isAsked('/long')).toBe(true));
  const ids = await crashSuspected('/suspect', 20);
  await eventually(() => expect(isAsked('/suspect')).toBe(true));

  // More than the window takes, if suspects had a share in it.
  const versionID = await deployment.saveVersion(noops(2));
  const tenantID = newID();
  await deployment.pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'Another', $1)`, [
    tenantID,
  ]);
  const others = await deployment.runs.acceptMany(
    Array.from({ length: 10 }, () => deployment.newRun(versionID, {}, { tenantID })),
  );
  await completed(others);

  // All the while the first suspect and the long call have not been answered.
  expect(pending.map(({ path }) => path).sort()).toEqual(['/long', '/suspect']);
  await eventually(async () => {
    const { text } = await scrape(metricsPort);
    for (const process of ['worker', 'suspect']) {
      expect(readSeries(text, `gantry_held_runs{process="${process}"}`)).toBe(1);
      expect(readSeries(text, `gantry_lease_valid{process="${process}"}`)).toBe(1);
      expect(readSeries(text, `gantry_pool_connections{process="${process}",pool="main",state="waiting"}`)).toBe(0);
    }
    expect(readSeries(text, 'gantry_claims_total{process="suspect",outcome="won"}')).toBe(1);
  });
  await eventually(async () => {
    answer('/suspect');
    const { rows } = await deployment.pool.query(
      'select from workflow_instance where id = any($1::uuid[]) and completed_at is null',
      [ids],
    );
    expect(rows).toEqual([]);
  });
  await completed(ids);
  expect(maxPending).toBe(1);
  answer('/long');
  await completed([long.instanceID]);
  expect(await quarantineProcesses(worker.pid)).toHaveLength(1);
});

test('a run that ends its process fails at the third crash, and neither the worker nor another run is blamed', async () => {
  const worker = aWorker();
  const [poison = ''] = await crashSuspected('/poison', 1);
  const innocent = await crashSuspected('/suspect', 3);
  const killed = new Set<number>();
  const leases: unknown[] = [];

  await eventually(async () => {
    answer('/suspect');
    if (isAsked('/poison')) {
      const pid = await quarantineProcess(worker.pid);
      killed.add(pid);
      leases.push((await deployment.read(poison)).held_by);
      process.kill(pid, 'SIGKILL');
      pending = pending.filter(({ path }) => path !== '/poison');
    }
    expect(await deployment.read(poison)).toMatchObject({
      status: 'FAILED',
      error: { code: 'WORKER_LOST', nodeID: 'call' },
    });
  });

  expect(killed.size).toBe(2);
  // The worker ends them at once: the sweep ends those that have expired.
  const { rows: ended } = await deployment.pool.query(
    'select ended_at < expires_at as early from worker_session where id = any($1::uuid[])',
    [leases],
  );
  expect(ended).toEqual([{ early: true }, { early: true }]);
  await eventually(async () => {
    answer('/suspect');
    const { rows } = await deployment.pool.query(
      'select from workflow_instance where id = any($1::uuid[]) and completed_at is null',
      [innocent],
    );
    expect(rows).toEqual([]);
  });
  await completed(innocent);
  expect(isAlive(worker.pid)).toBe(true);
});

test('a quarantine process that stops answering is killed, and its run is not left to it', async () => {
  const worker = aWorker();
  const [id = ''] = await crashSuspected('/suspect', 1);
  await eventually(() => expect(isAsked('/suspect')).toBe(true));
  const pid = await quarantineProcess(worker.pid);

  process.kill(pid, 'SIGSTOP');

  await eventually(() => expect(isAlive(pid)).toBe(false));
  pending = [];
  await eventually(async () => {
    answer('/suspect');
    expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' });
  });
});

test('a crash-suspected run goes back to the workers when its interrupted node has ended', async () => {
  aWorker();
  const [id = ''] = await crashSuspected('/suspect', 1, { next: '/next' });
  await eventually(() => expect(isAsked('/suspect')).toBe(true));
  expect(await slotsOfOwner(id)).toBe(1);

  answer('/suspect');

  await eventually(() => expect(isAsked('/next')).toBe(true));
  // The worker's own lease: that of its process for suspects has one slot.
  expect(await slotsOfOwner(id)).toBe(4);
  answer('/next');
  await completed([id]);
});

async function slotsOfOwner(id: string): Promise<number | undefined> {
  const { rows } = await deployment.pool.query<{ slots: number }>(
    'select s.slots from workflow_instance i join worker_session s on s.id = i.held_by where i.id = $1',
    [id],
  );
  return rows[0]?.slots;
}

test('when its worker is killed, the quarantine process hands its run back and ends', async () => {
  const worker = aWorker();
  const [id = ''] = await crashSuspected('/suspect', 1);
  await eventually(() => expect(isAsked('/suspect')).toBe(true));
  const pid = await quarantineProcess(worker.pid);

  await worker.kill('SIGKILL');

  await eventually(() => expect(isAlive(pid)).toBe(false));
  expect(await deployment.read(id)).toMatchObject({
    status: 'RUNNING',
    held_by: null,
    losses: 1,
    ready_at: expect.any(Date),
  });
});

test('a worker that stops ends its quarantine process, which hands its run back', async () => {
  const worker = aWorker();
  const [id = ''] = await crashSuspected('/suspect', 1);
  await eventually(() => expect(isAsked('/suspect')).toBe(true));
  const pid = await quarantineProcess(worker.pid);

  expect(await worker.kill('SIGTERM')).toEqual({ code: 0, signal: null });

  expect(isAlive(pid)).toBe(false);
  expect(await deployment.read(id)).toMatchObject({
    status: 'RUNNING',
    held_by: null,
    losses: 1,
    ready_at: expect.any(Date),
  });
});

test('a quarantine process that reports is not killed, and one that finds none for some time ends with exit code 0', async () => {
  const child = new QuarantineProcess(deployment.config);
  for (let report = 0; report < 3; report += 1) {
    const { metrics } = child;
    await eventually(() => expect(child.metrics).not.toBe(metrics));
    // Two of these intervals are longer than it may be silent.
    for (let second = 0; second < 9; second += 1) child.checkAlive(1_000);
  }

  expect(await child.ended).toBe('exit code 0');
});

test('a quarantine process that starts while Postgres is away waits, and ends with exit code 0 when it is told to', async () => {
  await using proxy = await startStatementProxy(deployment.config.db.url);
  const { log, db } = deployment.config;
  const config = {
    ...deployment.config,
    log: { ...log, level: 'warn' as const },
    db: { ...db, url: proxy.databaseURL },
  };
  proxy.cut();
  const start = () => {
    const child = fork('workers/process/quarantine-main.ts', [], {
      serialization: 'advanced',
      execArgv: [],
      stdio: 'pipe',
    });
    child.send({ config } satisfies QuarantineStart);
    return { child, ended: once(child, 'exit'), waits: once(child.stdout ?? child, 'data') };
  };
  const [stopped, healed] = [start(), start()];
  const begun = once(healed.child, 'message');
  await Promise.all([stopped.waits, healed.waits]);
  stopped.child.kill('SIGTERM');
  expect(await stopped.ended).toEqual([0, null]);

  proxy.heal();

  expect(await begun).toEqual([expect.objectContaining({ leaseID: expect.any(String) }), undefined]);
  healed.child.kill('SIGTERM');
  expect(await healed.ended).toEqual([0, null]);
});
