/** Connections to Postgres that stay open and carry nothing, as after a failover that says nothing. */
import { expect, test } from 'vitest';
import { redisURL } from '#test/support/backplane.ts';
import { startDeployment } from '#test/support/deployment.ts';
import { graph, noop, noops } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import { startTCPProxy } from '#test/support/tcp-proxy.ts';

test('a worker whose connections to Postgres have silently died commits, sweeps and wakes on others', async () => {
  await using resources = new AsyncDisposableStack();
  const deployment = resources.use(await startDeployment());
  const proxy = resources.use(await startTCPProxy(deployment.config.db.url));
  let answer: () => void = () => undefined;
  const server = resources.use(
    await startHTTP((_request, response) => {
      answer = () => response.end('{}');
    }),
  );
  const worker = await deployment.startWorker({ DATABASE_URL: proxy.url, DATABASE_ANSWER_SECONDS: '1' });
  const { runs, newRun } = deployment;
  const calling = await deployment.saveVersion(
    graph({ start: { type: 'start' }, call: { type: 'http', method: 'GET', url: server.origin }, after: noop }, [
      'start>call',
      'call:success>after',
    ]),
  );
  const waiting = await deployment.saveVersion(
    graph({ start: { type: 'start' }, wait: { type: 'delay', delaySeconds: 3 }, end: noop }, [
      'start>wait',
      'wait>end',
    ]),
  );
  const ids = (await runs.acceptMany([newRun(calling), newRun(waiting)])) as [string, string];
  await eventually(async () => {
    expect(server.seen).toHaveLength(1);
    expect(await deployment.read(ids[1])).toMatchObject({ status: 'WAITING' });
    expect(worker.sweep.stats.leads).toBe(true);
  });

  proxy.lose();
  answer();

  for (const id of ids)
    await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' }));
});

test('a worker whose listening connections have silently died hears of jobs and messages on others', async ({
  skip,
}) => {
  if (redisURL) skip('on Redis no connection to Postgres brings jobs or messages');
  await using resources = new AsyncDisposableStack();
  const deployment = resources.use(await startDeployment());
  const proxy = resources.use(await startTCPProxy(deployment.config.db.url));
  const worker = await deployment.startWorker({ DATABASE_URL: proxy.url, DATABASE_ANSWER_SECONDS: '1' });
  const versionID = await deployment.saveVersion(noops(1));
  const { runs } = deployment;
  const msUntilDone = async () => {
    const began = performance.now();
    const { instanceID } = await runs.accept(deployment.newRun(versionID));
    await eventually(async () => expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED' }));
    return performance.now() - began;
  };
  const heard: unknown[] = [];
  worker.backplane.messages.subscribe('test.heard', (message) => heard.push(message));
  await msUntilDone();

  proxy.lose();

  await eventually(async () => {
    await deployment.backplane.messages.publish('test.heard', 'again');
    expect(heard).toContain('again');
  });
  // BullMQ asks for jobs every five seconds, so one may come soon by chance: not five, one after the other.
  await eventually(async () => {
    const times: number[] = [];
    for (let n = 0; n < 5; n += 1) times.push(await msUntilDone());
    expect(Math.max(...times)).toBeLessThan(2_000);
  });
});
