import { expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';

test('a worker that is killed during a re-run repeats no effect whose result was taken over', async () => {
  await using deployment = await startDeployment({ WORKER_SESSION_SECONDS: '2' });
  let isBroken = true;
  let hangs = true;
  await using server = await startHTTP(async ({ url }, response) => {
    if (url === '/second' && isBroken) response.statusCode = 400;
    // The first request of the re-run is never answered: its worker dies.
    if (url !== '/second' || isBroken || !hangs) response.end('{}');
  });
  const call = (path: string) => ({ type: 'http', url: `${server.origin}/${path}`, method: 'POST', body: {} });
  const versionID = await deployment.saveVersion(
    graph({ start: { type: 'start' }, first: call('first'), second: call('second'), end: { type: 'end' } }, [
      'start>first',
      'first:success>second',
      'second:success>end',
    ]),
  );
  const requests = (path: string) => server.seen.filter(({ url }) => url === `/${path}`).length;
  await using doomed = spawnNode(['workers/main.ts', 'workflow.runs'], deployment.env);
  const source = deployment.newRun(versionID, { n: 1 });
  const { instanceID: rerunOf } = await deployment.runs.accept(source);
  await eventually(async () => expect(await deployment.read(rerunOf)).toMatchObject({ status: 'FAILED' }));
  isBroken = false;

  const run = { ...source, id: newID(), rerunOf, reusable: ['start', 'first'] };
  const answer = await deployment.runs.acceptRerun({
    run,
    claim: undefined,
    answer: (reused) => ({ reused: [...reused] }),
  });
  await eventually(() => expect(requests('second')).toBe(2));
  await doomed.kill('SIGKILL');
  hangs = false;
  await deployment.startWorker();

  expect(answer).toEqual({ reused: ['start', 'first'] });
  await eventually(async () => expect(await deployment.read(run.id)).toMatchObject({ status: 'COMPLETED' }));
  expect({ first: requests('first'), second: requests('second') }).toEqual({ first: 1, second: 3 });
  const events = await deployment.events(run.id);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => n + 1));
  expect(events.filter(({ node_id, attempt }) => node_id === 'second' && attempt === 2)).not.toEqual([]);
});
