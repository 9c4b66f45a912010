/** Connections to Postgres that stay open and carry nothing, as after a failover that says nothing. */
import { expect, test } from 'vitest';
import { redisURL } from '#test/support/backplane.ts';
import { startDeployment } from '#test/support/deployment.ts';
import { graph, noop, noops } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import { startTCPProxy } from '#test/support/tcp-proxy.ts';

/** A connection without an answer for so long is dead. A busy machine must not seem to be. */
const ANSWERS = { DATABASE_ANSWER_SECONDS: '3' };

test('a worker whose connections to Postgres have silently died commits, sweeps and wakes on others, and hears of jobs and messages', async () => {
  await using resources = new AsyncDisposableStack();
  const deployment = resources.use(await startDeployment());
  const proxy = resources.use(await startTCPProxy(deployment.config.db.url));
  let answer: () => void = () => undefined;
  const server = resources.use(
    await startHTTP((_request, response) => {
      answer = () => response.end('{}');
    }),
  );
  const worker = await deployment.startWorker({ DATABASE_URL: proxy.url, ...ANSWERS });
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
  const heard: unknown[] = [];
  worker.backplane.messages.subscribe('test.heard', (message) => heard.push(message));
  const quick = await deployment.saveVersion(noops(1));
  const runToTheEnd = async () => {
    const { instanceID } = await runs.accept(newRun(quick));
    await eventually(async () => expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED' }));
  };
  await runToTheEnd();
  await eventually(async () => {
    expect(server.seen).toHaveLength(1);
    expect(await deployment.read(ids[1])).toMatchObject({ status: 'WAITING' });
    expect(worker.sweep.stats.leads).toBe(true);
  });

  proxy.lose();
  answer();

  for (const id of ids)
    await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' }));

  // On Redis no connection to Postgres brings jobs or messages.
  if (redisURL) return;
  await eventually(async () => {
    await deployment.backplane.messages.publish('test.heard', 'again');
    expect(heard).toContain('again');
  });
  // BullMQ asks for jobs every five seconds, and at the end of one: without a message five of them, one after the other, take 25 s.
  await eventually(async () => {
    const began = performance.now();
    for (let n = 0; n < 5; n += 1) await runToTheEnd();
    expect(performance.now() - began).toBeLessThan(15_000);
  });
});
