import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { json, startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';

test.each([
  { step: 'goes on', after: ['after'] },
  { step: 'ends the run', after: [] },
])(
  'a worker whose commit finds the run taken over drops its outcome and the run, when the step $step',
  async ({ after }) => {
    const waiting: ServerResponse[] = [];
    const called: string[] = [];
    await using server = await startHTTP(({ url }, response) => {
      called.push(url);
      if (url === '/slow') waiting.push(response);
      else json(response, {});
    });
    // No renewal of a lease compares the held runs during the test: only the commit can tell that the run is another's.
    await using deployment = await startDeployment({ WORKER_SESSION_SECONDS: '600' });
    const get = (path: string) => ({ type: 'http', url: `${server.origin}${path}`, method: 'GET' });
    const versionID = await deployment.saveVersion(
      graph(
        {
          start: { type: 'start' },
          slow: get('/slow'),
          ...Object.fromEntries(after.map((id) => [id, get(`/${id}`)])),
        },
        ['start>slow', ...after.map((id) => `slow:success>${id}`)],
      ),
    );
    const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);
    // They serve another queue, so that only this test brings them jobs.
    const first = await deployment.startWorker({}, ['query.runs']);
    const second = await deployment.startWorker({}, ['query.runs']);
    const areAsked = (count: number) => eventually(() => expect(waiting).toHaveLength(count));

    await first.engine.advance({ runs: [{ instanceID: id, epoch: 1 }] });
    await areAsked(1);
    await deployment.pool.query(
      'update workflow_instance set held_by = null, ready_at = now(), dispatched_at = now() where id = $1 and held_by = $2',
      [id, first.leaseID],
    );
    await second.engine.advance({ runs: [{ instanceID: id, epoch: 2 }] });
    await areAsked(2);
    const taken = await deployment.read(id);
    expect(taken).toMatchObject({ status: 'RUNNING', epoch: 2, held_by: second.leaseID });

    const [late, current] = waiting;
    if (late) json(late, { by: 'the first worker' });
    await eventually(() => expect(first.engine.owned.size).toBe(0));
    expect(first.engine.stats).toMatchObject({ fenced: 1, refused: 0 });
    expect(await deployment.read(id)).toEqual(taken);
    expect(called).toEqual(['/slow', '/slow']);

    if (current) json(current, { by: 'the second worker' });
    await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED', epoch: 2 }));
    const outcomes = (await deployment.events(id)).filter(
      (event) => event.node_id === 'slow' && event.status === 'SUCCESS',
    );
    expect(outcomes).toMatchObject([
      { attempt: 2, payload: { output: { httpResponse: { by: 'the second worker' } } } },
    ]);
    expect(called).toEqual(['/slow', '/slow', ...after.map((path) => `/${path}`)]);
    expect(second.engine.stats.fenced).toBe(0);
  },
);
