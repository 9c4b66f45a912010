/** Connections to Postgres that stay open and carry nothing, as after a failover that says nothing. */
import { expect, test } from 'vitest';
import { startDeployment } from '#test/support/deployment.ts';
import { graph, noop } from '#test/support/graphs.ts';
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
    await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' }), 20_000);
});
