import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { startGated } from '#test/support/held-server.ts';
import { LEASE_VALID, type MeteredWorker, spawnMeteredWorker } from '#test/support/metered-worker.ts';
import { eventually } from '#test/support/settle.ts';
import { startTCPProxy } from '#test/support/tcp-proxy.ts';

/** So long that a busy machine does not keep a worker from renewing its lease. */
const LEASE_MS = 5_000;
/** Shorter silences are no outage to the sweep, which then may end a lease that is over. */
const OUTAGE_MS = 6_000;

const saysReady = (process: MeteredWorker, status: number, checks: JsonObject) =>
  eventually(async () => expect(await process.readiness()).toMatchObject({ status, checks }));

const READY = { postgres: 'ok', backplane: 'ok', lease: 'ok', draining: false };

test('a worker without Postgres says that it is not ready, starts no node, finishes the one in flight, and goes on afterwards', async () => {
  await using resources = new AsyncDisposableStack();
  const server = resources.use(await startGated());
  const deployment = resources.use(await startDeployment({ WORKER_SESSION_SECONDS: String(LEASE_MS / 1000) }));
  const proxy = resources.use(await startTCPProxy(deployment.config.db.url));
  const { env } = deployment;
  proxy.cut();
  const cutOff = resources.use(await spawnMeteredWorker({ ...env, DATABASE_URL: proxy.url, WORKER_SLOTS: '1' }));
  await saysReady(cutOff, 503, { postgres: 'is away' });
  proxy.heal();
  await saysReady(cutOff, 200, READY);
  const call = (path: string) => ({ type: 'http', method: 'GET', url: `${server.origin}/${path}` });
  const { instanceID } = await deployment.runs.accept(
    deployment.newRun(
      await deployment.saveVersion(
        graph({ start: { type: 'start' }, a: call('a'), b: call('b') }, ['start>a', 'start>b']),
      ),
    ),
  );
  await eventually(() => expect(server.seen).toHaveLength(1));

  proxy.silence();
  const silentSince = performance.now();
  await cutOff.becomes(LEASE_VALID, 0);
  await saysReady(cutOff, 503, { postgres: 'does not answer', lease: 'is over' });
  server.answer();
  // Its slot is free now, and the other node may have it as soon as the lease is valid.
  await cutOff.becomes('gantry_places{process="worker",lane="nodes",state="used"}', 0);
  await sleep(Math.max(500, silentSince + OUTAGE_MS - performance.now()));
  expect(server.seen).toHaveLength(1);

  proxy.heal();
  await eventually(() => expect(server.seen).toHaveLength(2));
  server.answer();
  await eventually(async () =>
    expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED', losses: 0 }),
  );
  expect(server.seen).toHaveLength(2);
  await saysReady(cutOff, 200, READY);
  expect(cutOff.child.exitCode).toBeNull();
});
