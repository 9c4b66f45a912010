import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';

describe('an end', () => {
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await startDeployment();
    await deployment.startWorker();
  });
  afterAll(() => deployment[Symbol.asyncDispose]());

  async function accepted(shape: { nodes: object[]; edges: object[] }): Promise<string> {
    const versionID = await deployment.saveVersion(shape);
    return (await deployment.runs.accept(deployment.newRun(versionID))).instanceID;
  }

  async function one<T>(sql: string, id: string): Promise<T[]> {
    return (await deployment.pool.query<T & object>(sql, [id])).rows;
  }

  const child = graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 60 } }, ['start>wait']);
  const early = { type: 'end', outputParameters: [{ name: 'early', sourceVariable: 1 }] };

  test('with the status failure ends the run with its own message, and cancels all that runs or waits', async () => {
    const { workflowID } = await deployment.saveWorkflow(child);
    let go: ServerResponse | undefined;
    await using server = await startHTTP((_request, response) => {
      go = response;
    });
    const id = await accepted(
      graph(
        {
          start: { type: 'start' },
          early,
          question: { type: 'dataCollection', fields: [{ key: 'a' }] },
          call: { type: 'subWorkflow', childWorkflowID: workflowID },
          busy: code('for (;;);', { timeoutSeconds: 600 }),
          stock: { type: 'http', method: 'GET', url: server.origin },
          bad: { type: 'end', status: 'failure', message: 'No stock of {{ctx.input.what}}' },
        },
        ['start>early', 'start>question', 'start>call', 'start>busy', 'start>stock', 'stock:success>bad'],
      ),
    );
    await eventually(async () => {
      expect(await one('select from run_wait where instance_id = $1', id)).toHaveLength(2);
      expect(go).toBeDefined();
    });
    go?.end('{}');

    await eventually(async () =>
      expect(await deployment.read(id)).toMatchObject({
        status: 'FAILED',
        error: { nodeID: 'bad', message: 'No stock of ' },
        output: { early: 1 },
      }),
    );
    const events = await deployment.events(id);
    const cancelled = events.filter(({ status }) => status === 'CANCELLED');
    expect(cancelled.map(({ node_id }) => node_id).sort()).toEqual(['busy', 'call', 'question']);
    for (const { payload } of cancelled) expect(payload).toEqual({ output: { cancelledBy: 'bad' } });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
    expect(await one('select from run_wait where instance_id = $1', id)).toEqual([]);
    expect(await one('select status from collection_request where instance_id = $1', id)).toEqual([
      { status: 'CANCELLED' },
    ]);
    // The sweep would find the child two seconds later.
    const ofChild = `
      select child.status, child.completed_at < parent.completed_at + interval '2 seconds' as is_soon
      from workflow_instance parent join workflow_instance child on child.parent_id = parent.id where parent.id = $1`;
    await eventually(async () => expect(await one(ofChild, id)).toEqual([{ status: 'CANCELLED', is_soon: true }]));
  });

  test('that does not cancel others waits for them, and the worst status counts', async () => {
    const id = await accepted(
      graph(
        {
          start: { type: 'start' },
          bad: { type: 'end', status: 'cancelled', cancelOthers: false },
          soon: { type: 'delay', delayMs: 300 },
          early,
        },
        ['start>bad', 'start>soon', 'soon>early'],
      ),
    );

    await eventually(async () =>
      expect(await deployment.read(id)).toMatchObject({ status: 'CANCELLED', error: null, output: { early: 1 } }),
    );
    expect((await deployment.events(id)).filter(({ status }) => status === 'CANCELLED')).toHaveLength(1);
  });

  test('with the status success cancels others if it is told to, and starts nothing after it', async () => {
    const id = await accepted(
      graph(
        {
          start: { type: 'start' },
          first: { type: 'end', cancelOthers: true },
          other: code('return 1;'),
          off: code('return 1;', { isDisabled: true }),
        },
        ['start>first', 'start>other', 'start>off'],
      ),
    );

    await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' }));
    const events = await deployment.events(id);
    const told = events.map(({ node_id, status }) => `${node_id} ${status}`);
    expect(told.slice(0, 3)).toEqual(['start SUCCESS', 'first RUNNING', 'other RUNNING']);
    // A slow process has no room for the end in the commit of the start: then the disabled node is passed over before it.
    expect(told.slice(told.indexOf('first SUCCESS'))).toEqual(['first SUCCESS', 'other CANCELLED', 'null COMPLETED']);
  });

  test.each([
    { how: 'its end', last: { type: 'end', cancelOthers: true } },
    { how: 'a failure', last: code('throw new Error("no");', { errorHandling: 'fail_workflow' }) },
  ])('aborts the calls in flight by $how, in loops too', async ({ last }) => {
    const aborted: (string | undefined)[] = [];
    let go: ServerResponse | undefined;
    await using server = await startHTTP(({ url }, response) => {
      if (url === '/go') go = response;
      else response.on('close', () => aborted.push(url));
    });
    const call = (path: string) => ({ type: 'http', method: 'GET', url: `${server.origin}${path}` });
    const loop = { type: 'loop', sourceVariable: [1] };
    const id = await accepted(
      graph({ start: { type: 'start' }, call: call('/call'), loop, inner: call('/inner'), go: call('/go'), last }, [
        'start>call',
        'start>loop',
        'loop:loop>inner',
        'start>go',
        'go:success>last',
      ]),
    );
    await eventually(() => expect(server.seen).toHaveLength(3));

    go?.end('{}');

    await eventually(async () => expect((await deployment.read(id)).status).toMatch(/^(COMPLETED|FAILED)$/));
    await eventually(() => expect(aborted.toSorted()).toEqual(['/call', '/inner']));
    const cancelled = (await deployment.events(id)).filter(({ status }) => status === 'CANCELLED');
    expect(cancelled.map(({ node_id }) => node_id).sort()).toEqual(['call', 'inner', 'loop']);
  });
});
