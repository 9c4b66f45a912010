import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, aWorkflow, chain, type TestTenant } from '../../../support/factories.ts';
import { code, graph, noop } from '../../../support/graphs.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
});

afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);

test('execute waits on request, and answers with the outcome', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain({}, { echo: '{{ctx.input.word}}' }) });

  const done = await api().post(`T/workflows/${id}/execute?wait=30`, { args: { word: 'hi' } });

  expect(done.body).toEqual({
    success: true,
    instanceID: expect.any(String),
    status: 'COMPLETED',
    output: { echo: 'hi' },
    error: null,
  });
});

test('a run that fails during the wait answers with the error', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain({ bad: code('throw new Error("no luck")') }) });

  const { status, body } = await api().post(`T/workflows/${id}/execute?wait=30`);

  expect(status).toBe(200);
  expect(body).toMatchObject({
    status: 'FAILED',
    output: null,
    error: { code: 'NODE_FAILED', nodeID: 'bad', attempt: 1 },
  });
});

test('the worker sends the outcome to the process that waits', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain({}, { echo: '{{ctx.input.word}}' }) });
  const told: unknown[] = [];
  const { channel } = cluster.context.runs.awaited;
  const unsubscribe = cluster.backplane.messages.subscribe(channel, (message) => told.push(message));

  const ended: string[] = [];
  // A subscription begins in the background, so the first runs may not be heard of.
  await eventually(async () => {
    const { body } = await api().post(`T/workflows/${id}/execute?wait=30`, { args: { word: 'hi' } });
    ended.push(body.instanceID);
    await eventually(() => expect(told).not.toEqual([]), 1_000);
  });
  unsubscribe();

  const outcome = { status: 'COMPLETED', output: { echo: 'hi' }, error: null };
  expect(told).toContainEqual([{ instanceID: ended.at(-1), outcome }]);
});

test('no process is told of the end of a run that no client waits for', async () => {
  const { id } = await aWorkflow(cluster, { tenant });

  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;

  const { rows } = await cluster.pool.query('select awaited_by from workflow_instance where id = $1', [instanceID]);
  expect(rows).toEqual([{ awaited_by: null }]);
});

test('a repeated request waits for the run of the first one, also if that has ended', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delayMinutes: 5 } }) });
  const headers = { 'Idempotency-Key': newID() };
  const send = (wait: number) => api().post(`T/workflows/${id}/execute?wait=${wait}`, {}, headers);
  const { instanceID } = (await send(0)).body;

  const second = send(30);
  // Workers tell the process that waits now.
  await eventually(async () => {
    const { rows } = await cluster.pool.query('select awaited_by from workflow_instance where id = $1', [instanceID]);
    expect(rows).toEqual([{ awaited_by: cluster.context.runs.awaited.channel }]);
  });
  await cluster.context.runs.stop(tenant.id, instanceID);
  const third = send(30);

  for (const { body } of [await second, await third])
    expect(body).toEqual({ success: true, instanceID, status: 'CANCELLED', output: null, error: null });
});

test('a run that takes longer than the wait is answered as without a wait', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delayMinutes: 1 } }) });

  const { body } = await api().post(`T/workflows/${id}/execute?wait=0.2`);

  expect(body).toEqual({ success: true, instanceID: expect.any(String) });
});

test('the wait is between 0 and 60 seconds', async () => {
  const { id } = await aWorkflow(cluster, { tenant });

  for (const wait of ['61', '-1', 'long'])
    expect((await api().post(`T/workflows/${id}/execute?wait=${wait}`)).status).toBe(400);
});

test('the record of a run tells what each node did and when', async () => {
  const graph = chain(
    { double: code('return ctx.input.n * 2;', { outputVariable: 'twice' }) },
    { twice: '{{ctx.twice}}' },
  );
  const { id } = await aWorkflow(cluster, { tenant, title: 'Doubling', ...graph });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute?wait=30`, { args: { n: 21 } })).body;

  const { body } = await api().get(`T/workflows/instances/${instanceID}`);

  expect(body).toMatchObject({
    success: true,
    instanceID,
    workflowID: id,
    workflowTitle: 'Doubling',
    status: 'COMPLETED',
    isTest: false,
    parentInstanceID: null,
    input: { n: 21 },
    output: { twice: 42 },
    error: null,
    startedAt: expect.any(String),
    completedAt: expect.any(String),
  });
  expect(body).not.toHaveProperty('waiting');
  expect(body.nodes.map(({ nodeID, status }: { nodeID: string; status: string }) => [nodeID, status])).toEqual([
    ['start', 'SUCCESS'],
    ['double', 'SUCCESS'],
    ['end', 'SUCCESS'],
  ]);
  for (const node of body.nodes)
    expect(Date.parse(node.completedAt)).toBeGreaterThanOrEqual(Date.parse(node.startedAt));
  const outcome = body.timeline.find(
    ({ nodeID, status }: Record<string, string>) => nodeID === 'double' && status === 'SUCCESS',
  );
  expect(outcome).toMatchObject({ iteration: 0, attempt: 1, exit: 'success', output: { twice: 42 }, error: null });
});

test('a long timeline is read page by page', async () => {
  const { id } = await aWorkflow(cluster, {
    tenant,
    ...chain({ a: code('return 1'), b: code('return 2'), c: code('return 3') }),
  });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute?wait=30`)).body;
  const path = `T/workflows/instances/${instanceID}`;
  const whole = (await api().get(path)).body.timeline;

  const pages = [];
  for (let after: number | null = 0; after !== null; ) {
    const { body } = await api().get(`${path}?timelineLimit=2&afterSeq=${after}`);
    pages.push(...body.timeline);
    after = body.nextSeq;
  }

  expect(pages).toEqual(whole);
});

test('a run is read without its input by those who have it', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain({}, { echo: '{{ctx.input.word}}' }) });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute?wait=30`, { args: { word: 'hi' } })).body;
  const read = (query = '') => api().get(`T/workflows/instances/${instanceID}${query}`);

  const { input, ...others } = (await read()).body;

  expect(input).toEqual({ word: 'hi' });
  expect(others).toMatchObject({ status: 'COMPLETED', output: { echo: 'hi' } });
  expect((await read('?input=false')).body).toEqual(others);
  expect((await read('?input=no')).body.error).toMatchObject({
    code: 'VALIDATION_ERROR',
    message: expect.stringMatching(/^input: /),
  });
});

test('a waiting run tells its cause', async () => {
  const ask = { type: 'dataCollection', fields: [{ key: 'name' }] };
  const child = await aWorkflow(cluster, { tenant, ...chain({ ask }) });
  const question = { ...ask, title: 'Approve order {{ctx.input.id}}' };
  const graphs = {
    delay: [chain({ wait: { type: 'delay', delayMinutes: 3, title: 'Cool down' } }), 'a time at “Cool down”'],
    input: [chain({ ask: question }), 'an answer to “Approve order 7”'],
    child: [
      chain({ child: { type: 'subWorkflow', childWorkflowID: child.id } }),
      'a run that it has started at “child”',
    ],
  } as const;

  for (const [reason, [graph, what]] of Object.entries(graphs)) {
    const { id } = await aWorkflow(cluster, { tenant, ...graph });
    const { instanceID } = (await api().post(`T/workflows/${id}/execute`, { args: { id: 7 } })).body;
    await eventually(async () => {
      const { body } = await api().get(`T/workflows/instances/${instanceID}`);
      expect(body).toMatchObject({ status: 'WAITING', waiting: { reason }, waitReason: { code: reason } });
      expect(body.waitReason).toMatchObject({ message: `waits for ${what}` });
      expect(body.waitReason.until).toBe(body.waiting.until);
      if (reason === 'delay') expect(Date.parse(body.waiting.until) - Date.now()).toBeGreaterThan(170_000);
      if (reason === 'input') {
        expect(body.waiting.collectionRequestID).toEqual(expect.any(String));
        expect(Date.parse(body.waiting.until) - Date.now()).toBeGreaterThan(3_000_000);
      }
    });
  }
});

test('a node that will be retried is shown as a delay', async () => {
  const graph = chain({ bad: code('throw new Error("not yet")', { retryLimit: 2, retryDelaySeconds: 60 }) });
  const { id } = await aWorkflow(cluster, { tenant, ...graph });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;

  await eventually(async () => {
    const { body } = await api().get(`T/workflows/instances/${instanceID}`);
    expect(body).toMatchObject({ status: 'WAITING', waiting: { reason: 'delay', until: expect.any(String) } });
  });
});

test('a run that pauses between two items shows each node in its last iteration', async () => {
  const loop = { type: 'loop', sourceVariable: [1, 2, 3], delayBetweenItems: 60_000 };
  const shape = graph({ start: { type: 'start' }, loop, body: noop }, ['start>loop', 'loop:loop>body']);
  const { id } = await aWorkflow(cluster, { tenant, ...shape });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;
  const read = async () => (await api().get(`T/workflows/instances/${instanceID}`)).body;
  await eventually(async () =>
    expect(await read()).toMatchObject({ status: 'WAITING', waiting: { reason: 'delay', until: expect.any(String) } }),
  );
  await cluster.pool.query('update run_wait set due_at = now() where instance_id = $1', [instanceID]);
  await cluster.context.runs.wake([instanceID]);

  await eventually(async () => {
    const body = await read();
    const frame = [{ nodeID: 'loop', iteration: 1 }];
    expect(body.nodes).toMatchObject([
      { nodeID: 'start', status: 'SUCCESS', frame: [] },
      { nodeID: 'loop', status: 'SUSPENDED', frame: [], startedAt: expect.any(String), completedAt: null },
      { nodeID: 'body', status: 'SUCCESS', frame, iteration: 1 },
    ]);
    const begun = body.timeline.findLast((event: { status: string }) => event.status === 'RUNNING');
    expect(body.nodes[2]).toMatchObject({ startedAt: begun.at, attempt: 1 });
  });
});

test('a map shows how far it is, and its chunks are runs that only their parent lists', async () => {
  const ask = { type: 'dataCollection', fields: [{ key: 'answer' }] };
  const shape = graph(
    { start: { type: 'start' }, map: { type: 'map', sourceVariable: [1, 2, 3], concurrency: 2 }, ask },
    ['start>map', 'map:map>ask'],
  );
  const { id } = await aWorkflow(cluster, { tenant, ...shape });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;
  const read = async () => (await api().get(`T/workflows/instances/${instanceID}`)).body;
  const open = async () =>
    (await api().get('T/workflows/data-collection?status=PENDING')).body.requests.filter(
      ({ workflowID }: { workflowID: string }) => workflowID === id,
    );
  await eventually(async () => expect(await open()).toHaveLength(2));
  expect(await read()).toMatchObject({
    status: 'WAITING',
    waitReason: { code: 'child' },
    maps: [
      {
        nodeID: 'map',
        frame: [],
        done: 0,
        total: 3,
        failed: 0,
        chunks: { total: 3, started: 2, ended: 0 },
        isOver: false,
      },
    ],
  });
  const [{ mapID }] = (await read()).maps;
  // The event of the start of the map was a while ago.
  await cluster.pool.query(`update run_map set reported_at = now() - interval '2 seconds' where id = $1`, [mapID]);
  const [request] = await open();
  const answer = { submittedData: { answer: 'yes' } };
  expect((await api().post(`T/workflows/data-collection/${request.collectionRequestID}/submit`, answer)).status).toBe(
    200,
  );

  await eventually(async () => {
    const { maps, timeline } = await read();
    expect(maps).toMatchObject([{ done: 1, chunks: { started: 3, ended: 1 } }]);
    expect(timeline.at(-1)).toMatchObject({ nodeID: 'map', mapID, progress: { done: 1, total: 3, failed: 0 } });
  });
  const listed = async (query: string) => (await api().get(`T/workflows/instances?${query}`)).body.instances;
  expect(await listed(`workflowID=${id}`)).toMatchObject([{ instanceID, mapID: null }]);
  const chunks = await listed(`parentInstanceID=${instanceID}`);
  expect(chunks).toHaveLength(3);
  expect(await listed(`root=${instanceID}`)).toHaveLength(4);
  expect(chunks).toMatchObject(chunks.map(() => ({ workflowID: id, parentNodeID: 'map', mapID })));
  const rowsOf = async (query: string) =>
    (await api().get(`T/workflows/instances/${instanceID}/maps/${mapID}/chunks?${query}`)).body;
  expect(await rowsOf('limit=2')).toMatchObject({
    chunks: [0, 1].map((first) => ({ first, size: 1, instanceID: expect.any(String) })),
    nextCursor: '2',
  });
  expect((await rowsOf('cursor=2')).chunks).toMatchObject([{ first: 2, status: 'WAITING', failed: null }]);
  expect((await rowsOf('item=1')).chunks).toMatchObject([{ first: 1 }]);
  expect([(await rowsOf('item=3')).chunks, (await rowsOf('failed=true')).chunks]).toEqual([[], []]);
  const other = `T/workflows/instances/${chunks[0].instanceID}/maps/${mapID}/chunks`;
  expect((await api().get(other)).status).toBe(404);
  const again = await api().post(`T/workflows/instances/${request.instanceID}/rerun`);
  expect(again).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining(instanceID) } } });

  await api().delete(`T/workflows/instances/${instanceID}/stop`);

  for (const { status } of await listed(`parentInstanceID=${instanceID}`))
    expect(status).toMatch(/^(COMPLETED|CANCELLED)$/);
});

test.each(['collect', 'fail-fast'])(
  'a chunk of a map (%s) names the step of its first failed item',
  async (failurePolicy) => {
    const failing = (at: number, more: object = {}) =>
      code(`if (ctx.item === ${at}) throw new Error("no"); return ctx.item;`, more);
    const map = { type: 'map', sourceVariable: [0, 1], chunkSize: 2, failurePolicy };
    // The failure of the first item is handled by the node itself.
    const nodes = { start: { type: 'start' }, map, soft: failing(0, { errorHandling: 'continue' }), hard: failing(1) };
    const { id } = await aWorkflow(cluster, { tenant, ...graph(nodes, ['start>map', 'map:map>soft', 'soft>hard']) });

    const { instanceID } = (await api().post(`T/workflows/${id}/execute?wait=30`)).body;

    const [{ mapID }] = (await api().get(`T/workflows/instances/${instanceID}`)).body.maps;
    const { body } = await api().get(`T/workflows/instances/${instanceID}/maps/${mapID}/chunks?failed=true`);
    expect(body.chunks).toMatchObject([
      { failed: 1, failedStep: { nodeID: 'hard', frame: [{ nodeID: 'map', iteration: 1 }] } },
    ]);
  },
);

test('what a test run starts is a test run too, and not listed among the others', async () => {
  const child = await aWorkflow(cluster, { tenant, ...chain() });
  const calling = chain({ child: { type: 'subWorkflow', childWorkflowID: child.id } });
  const { instanceID } = (await api().post('T/workflows/test', calling)).body;
  const listed = async (query: string) =>
    (await api().get(`T/workflows/instances?workflowID=${child.id}${query}`)).body.instances;

  await eventually(async () =>
    expect(await listed('&isTest=true')).toMatchObject([{ parentInstanceID: instanceID, isTest: true }]),
  );
  expect(await listed('&isTest=false')).toEqual([]);
});

test('child runs are listed by their parent, stand in its timeline, and end with it', async () => {
  const child = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delayMinutes: 3 } }) });
  const parent = await aWorkflow(cluster, {
    tenant,
    ...chain({ child: { type: 'subWorkflow', childWorkflowID: child.id } }),
  });
  const { instanceID } = (await api().post(`T/workflows/${parent.id}/execute`)).body;
  const children = async () => (await api().get(`T/workflows/instances?parentInstanceID=${instanceID}`)).body.instances;
  await eventually(async () =>
    expect(await children()).toMatchObject([{ workflowID: child.id, parentNodeID: 'child' }]),
  );

  await api().delete(`T/workflows/instances/${instanceID}/stop`);

  expect(await children()).toMatchObject([{ status: 'CANCELLED', parentInstanceID: instanceID }]);
  const [{ instanceID: childID, workflowTitle }] = await children();
  const { timeline } = (await api().get(`T/workflows/instances/${instanceID}`)).body;
  expect(timeline.flatMap((event: { child?: object }) => event.child ?? [])).toEqual([
    { instanceID: childID, status: 'CANCELLED', workflowID: child.id, workflowTitle },
  ]);
});

test('the usage of a workflow names those that call it or let it handle failures, as far as the caller may read them', async () => {
  const child = await aWorkflow(cluster, { tenant, ...chain() });
  const call = { type: 'subWorkflow', childWorkflowID: child.id };
  const calling = await aWorkflow(cluster, { tenant, title: 'Calls', ...chain({ call }) });
  await aWorkflow(cluster, { tenant, title: 'Fails', ...chain(), options: { onFailure: { workflowID: child.id } } });
  await aWorkflow(cluster, { tenant, title: 'Neither', ...chain() });
  const rules = [child.id, calling.id].map((id) => ({ object: `workflow:${id}`, action: 'read' }));
  const member = await aMember(cluster, { tenant, rules });

  const all = await api().get(`T/workflows/${child.id}/usage`);
  const some = await cluster.as(member).in(tenant).get(`T/workflows/${child.id}/usage`);

  expect(all.body).toMatchObject({ workflows: [{ workflowTitle: 'Fails' }, { workflowTitle: 'Calls' }], others: 0 });
  expect(some.body).toMatchObject({ workflows: [{ workflowID: calling.id, workflowTitle: 'Calls' }], others: 1 });
});

test('deleting a workflow ends its runs, also those of sub-workflow nodes', async () => {
  const child = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delayMinutes: 3 } }) });
  const parent = await aWorkflow(cluster, {
    tenant,
    ...chain({ child: { type: 'subWorkflow', childWorkflowID: child.id } }),
  });
  const { instanceID } = (await api().post(`T/workflows/${parent.id}/execute`)).body;
  await eventually(async () => {
    const { body } = await api().get(`T/workflows/instances?workflowID=${child.id}&status=WAITING`);
    expect(body.totalCount).toBe(1);
  });

  await api().delete(`T/workflows/${child.id}`);

  await eventually(async () => {
    const { body } = await api().get(`T/workflows/instances/${instanceID}`);
    expect(body).toMatchObject({ status: 'FAILED' });
  });
});
