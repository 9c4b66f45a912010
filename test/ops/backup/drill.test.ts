/** The drill: a backup under load, everything killed, a restore elsewhere. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { restoreDeployment } from '#ops/backup/restore.ts';
import { readOpenWork, resumeDeployment } from '#ops/backup/resume.ts';
import type { Pool } from '#shared/db/pool.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { readConfig } from '#shared/process/config.ts';
import { servePages } from '#shared/process/health-server.ts';
import { createWorker } from '#workers/process/worker.ts';
import { aFolder, anEmptyTarget, backUp, folderStore, silent, type Target } from '../../support/backups.ts';
import { aCronJob } from '../../support/cron.ts';
import { type Deployment, startDeployment } from '../../support/deployment.ts';
import { testLogger } from '../../support/environment.ts';
import { graph } from '../../support/graphs.ts';
import { type GatedServer, startGated } from '../../support/held-server.ts';
import { spawnNode } from '../../support/process.ts';
import { eventually } from '../../support/settle.ts';

let lost: Lost;
beforeAll(async () => {
  lost = await aLostDeployment();
});
afterAll(() => lost[Symbol.asyncDispose]());

interface Lost extends AsyncDisposable {
  deployment: Deployment;
  server: GatedServer;
  folder: string;
  /** Runs by what they did when the backup was made. */
  ids: Record<'completed' | 'calling' | 'sleeping' | 'later', string>;
  cronJobID: string;
}

/** A deployment whose worker was killed after a backup, and after it had gone on for a while. */
async function aLostDeployment(): Promise<Lost> {
  await using resources = new AsyncDisposableStack();
  const { path: folder } = resources.use(await aFolder());
  const server = resources.use(await startGated());
  const deployment = resources.use(await startDeployment());
  const { runs, newRun, env } = deployment;
  const call = (path: string) => ({ type: 'http', method: 'POST', url: `${server.origin}/${path}` });
  const { workflowID, versionID } = await deployment.saveWorkflow(
    graph({ start: { type: 'start' }, a: call('a'), b: call('b') }, ['start>a', 'a>b']),
  );
  const sleepy = await deployment.saveVersion(
    graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 600 }, z: call('z') }, [
      'start>wait',
      'wait>z',
    ]),
  );
  const cronJobID = await aCronJob(deployment, { workflowID, dueAgo: 120 });
  const worker = resources.use(spawnNode(['workers/main.ts', workflowRuns.name], env));

  const completed = (await runs.accept(newRun(versionID))).instanceID;
  await eventually(() => expect(server.seen).toHaveLength(1));
  server.answer();
  await eventually(() => expect(server.seen).toHaveLength(2));
  server.answer();
  await eventually(async () => expect(await deployment.read(completed)).toMatchObject({ status: 'COMPLETED' }));
  const sleeping = (await runs.accept(newRun(sleepy))).instanceID;
  await eventually(async () => expect(await deployment.read(sleeping)).toMatchObject({ status: 'WAITING' }));
  const calling = (await runs.accept(newRun(versionID))).instanceID;
  await eventually(() => expect(server.seen).toHaveLength(3));

  await backUp(deployment, folderStore(folder));

  server.open();
  const later = (await runs.accept(newRun(versionID))).instanceID;
  for (const id of [calling, later])
    await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' }));
  await worker.kill('SIGKILL');
  const owned = resources.move();
  const ids = { completed, calling, sleeping, later };
  return { deployment, server, folder, ids, cronJobID, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** All that a database says of runs up to a moment. */
async function ledger(pool: Pool, ids: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select e::text as line from run_event e where instance_id = any($1) order by instance_id, seq`,
    [ids],
  );
  return rows.map(({ line }) => line);
}

/** A worker of the restored deployment that waits, by what it says of itself. */
async function aWaitingWorker(resources: AsyncDisposableStack, { env }: Target) {
  const pages = resources.use(await servePages({ host: '127.0.0.1', port: 0 }, testLogger));
  const starting = createWorker({
    config: readConfig(env),
    logger: testLogger,
    pages,
    queueNames: [workflowRuns.name],
  });
  await eventually(async () => {
    const ready = await fetch(`http://127.0.0.1:${pages.port}/ready`);
    expect(await ready.json()).toMatchObject({
      success: false,
      checks: { restore: expect.stringContaining('resume') },
    });
  });
  return { starting };
}

const keysOf = ({ seen }: GatedServer) => seen.map(({ headers }) => headers['idempotency-key']);

test('a restored deployment has the ledger of the backup, does nothing before it is resumed, and nothing twice then', async () => {
  await using resources = new AsyncDisposableStack();
  const { deployment, server, ids } = lost;
  const target = resources.use(await anEmptyTarget(deployment));
  const before = keysOf(server);

  await restoreDeployment(target, { store: folderStore(lost.folder), ...silent });

  const same = [ids.completed, ids.sleeping];
  expect(await ledger(target.pool, same)).toEqual(await ledger(deployment.pool, same));
  expect((await ledger(target.pool, same)).length).toBeGreaterThan(5);
  const { rows } = await target.pool.query('select id, status from workflow_instance order by id');
  expect(rows).toEqual([
    { id: ids.completed, status: 'COMPLETED' },
    { id: ids.sleeping, status: 'WAITING' },
    { id: ids.calling, status: 'RUNNING' },
  ]);
  const { starting } = await aWaitingWorker(resources, target);
  expect(await readOpenWork(target.pool)).toMatchObject({ atWork: 1, waiting: 1, events: 0, deliveries: 0 });
  expect(server.seen).toHaveLength(before.length);

  expect(await resumeDeployment(target, 'waiting')).toEqual({ cancelled: 1 });
  const worker = resources.use(await starting);
  const { rows: version } = await target.pool.query<{ id: string }>(
    'select version_id as id from workflow_instance where id = $1',
    [ids.completed],
  );
  const { instanceID } = await worker.runs.accept(deployment.newRun(version[0]?.id ?? ''));
  await eventually(async () => {
    const { rows: found } = await target.pool.query('select status from workflow_instance where id = $1', [instanceID]);
    expect(found).toEqual([{ status: 'COMPLETED' }]);
  });
  await worker.sweep.once();

  const calls = keysOf(server);
  expect(calls).toHaveLength(before.length + 2);
  expect(new Set(calls).size).toBe(calls.length);
  const { rows: after } = await target.pool.query(
    'select id, status, error from workflow_instance where id <> $1 order by id',
    [instanceID],
  );
  expect(after).toMatchObject([
    { id: ids.completed, status: 'COMPLETED' },
    { id: ids.sleeping, status: 'WAITING' },
    { id: ids.calling, status: 'CANCELLED', error: { code: 'RESTORED' } },
  ]);
});

test('ticks between the backup and the resumption are missed, and the next one is to come', async () => {
  await using resources = new AsyncDisposableStack();
  const { deployment, folder, cronJobID } = lost;
  const target = resources.use(await anEmptyTarget(deployment));
  await restoreDeployment(target, { store: folderStore(folder), ...silent });

  // The worker of the lost deployment had decided about the tick before the backup.
  await target.pool.query('delete from cron_tick');
  await target.pool.query(
    `update cron_job set next_at = now() - interval '2 minutes', due_at = now() - interval '2 minutes'`,
  );

  await resumeDeployment(target, 'cancel');

  const { rows } = await target.pool.query('select outcome, error from cron_tick where cron_job_id = $1', [cronJobID]);
  expect(rows).toMatchObject([{ outcome: 'missed', error: { code: 'MISSED' } }]);
  const { rows: jobs } = await target.pool.query(
    'select next_at > now() as "isToCome", due_at > now() as "isDueLater" from cron_job',
  );
  expect(jobs).toEqual([{ isToCome: true, isDueLater: true }]);
});

test('with --runs continue, what was done after the backup is done again under the same idempotency keys', async () => {
  await using resources = new AsyncDisposableStack();
  const { deployment, server, folder, ids } = lost;
  const target = resources.use(await anEmptyTarget(deployment));
  await restoreDeployment(target, { store: folderStore(folder), ...silent });
  const before = new Set(keysOf(server));
  const calls = server.seen.length;
  const { starting } = await aWaitingWorker(resources, target);

  await resumeDeployment(target, 'continue');

  resources.use(await starting);
  await eventually(async () => {
    const { rows } = await target.pool.query('select status from workflow_instance where id = $1', [ids.calling]);
    expect(rows).toEqual([{ status: 'COMPLETED' }]);
  });
  expect(server.seen).toHaveLength(calls + 2);
  expect(new Set(keysOf(server))).toEqual(before);
});
