import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, aWorkflow, chain, type TestTenant, type TestUser } from '../../../support/factories.ts';
import { code, graph } from '../../../support/graphs.ts';
import { type HTTPServer, startHTTP } from '../../../support/http-server.ts';

let cluster: Cluster;
let tenant: TestTenant;
let server: HTTPServer;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
  server = await startHTTP((request, response) => {
    response.setHeader('content-type', 'application/json').end(request.body);
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const api = (who: TestUser = tenant.creator) => cluster.as(who).in(tenant);

async function executed(shape: { nodes: object[]; edges: object[] }, args: object = {}, who?: TestUser) {
  const { id } = await aWorkflow(cluster, { tenant, ...shape });
  const { body } = await api(who).post(`T/workflows/${id}/execute?wait=30`, { args });
  expect(body.status).toMatch(/COMPLETED|FAILED/);
  return body.instanceID as string;
}

const inputOf = (instanceID: string, nodeID: string, query = '', who?: TestUser) =>
  api(who).get(`T/workflows/instances/${instanceID}/nodes/${nodeID}/input${query}`);

interface Event {
  nodeID: string;
  frame: { iteration: number }[];
  status: string;
  output: { seen: { ctx: object } } | null;
}

/** Steps of the kind below say what they saw as `ctx`: for each, what the API says of that, and what it was. */
async function compared(instanceID: string): Promise<{ said: object; seen: object; at: string }[]> {
  const { timeline } = (await api().get(`T/workflows/instances/${instanceID}?outputs=full`)).body;
  const steps = (timeline as Event[]).filter(({ output, status }) => status === 'SUCCESS' && output?.seen?.ctx);
  const found = [];
  for (const { nodeID, frame, output } of steps) {
    const iterations = frame.map(({ iteration }) => iteration).join('.');
    const { status, body } = await inputOf(instanceID, nodeID, iterations && `?iterations=${iterations}`);
    expect([status, body.omitted, body.mayLackKeys, body.frame]).toEqual([200, [], false, frame]);
    found.push({ at: `${nodeID} ${iterations}`, said: body.ctx, seen: output?.seen.ctx ?? {} });
  }
  return found;
}

// Later steps see `n` alone, since what each saw would hold what all before it saw.
const sees = (name: string) =>
  code(`return { n: '${name}', ctx: { ...ctx, seen: undefined } };`, { outputVariable: 'seen' });
const fails = (why: string) => code(`throw new Error('${why}');`, { outputVariable: 'failed' });
const withoutSeen = ({ seen: _, ...ctx }: { seen?: unknown }) => ctx;

test('a step has its settings with the values in them; what is secret, or not kept, is said', async () => {
  const variable = { name: 'token', value: 'sesame-4711', isSecret: true };
  expect((await api().post('T/variables', variable)).status).toBe(201);
  const instanceID = await executed(
    chain({
      first: code('return { lines: [1, 2] };', { outputVariable: 'order' }),
      call: {
        type: 'http',
        method: 'POST',
        url: `${server.origin}/of/{{ctx.input.name}}`,
        headers: [{ key: 'x-order', value: '{{ctx.order.lines[1]}} of {{ctx.input.missing}}' }],
        body: { lines: '{{ctx.order.lines}}', none: '{{ctx.none}}', token: '{{vars.token}}' },
        outputVariable: 'answer',
      },
      last: code('return ctx.answer.token;'),
      told: { type: 'http', method: 'POST', url: server.origin, body: '{"name": {{ctx.input.name}}}' },
    }),
    { name: 'a b' },
  );

  const { status, body } = await inputOf(instanceID, 'call');

  expect(status).toBe(200);
  expect(body).toMatchObject({ instanceID, nodeID: 'call', frame: [], attempt: 1, status: 'SUCCESS' });
  expect(body.settings.values).toMatchObject({
    url: `${server.origin}/of/a b`,
    headers: [{ key: 'x-order', value: '2 of ' }],
    body: { lines: [1, 2], none: null, token: '{{vars.token}}' },
  });
  expect(body.settings.inDoubt).toEqual(
    expect.arrayContaining([
      { path: ['url'], reason: 'plain' },
      { path: ['body', 'token'], reason: 'notKept' },
    ]),
  );
  expect(body.settings.inDoubt).toHaveLength(2);
  expect(body.ctx).toEqual({ input: { name: 'a b' }, order: { lines: [1, 2] } });
  const { body: last } = await inputOf(instanceID, 'last');
  expect(JSON.stringify([body, last])).not.toContain('sesame');
  expect(last.settings.values.code).toBe('return ctx.answer.token;');
  expect(last.ctx.answer.lines).toEqual([1, 2]);
  const { body: told } = await inputOf(instanceID, 'told');
  expect(told.settings.inDoubt).toEqual([{ path: ['body'], reason: 'plain' }]);

  const rerun = await api().post(`T/workflows/instances/${instanceID}/rerun`, { from: { nodeID: 'last' } });
  const taken = await inputOf(rerun.body.instanceID, 'call');
  expect(taken.body).toMatchObject({ reusedFrom: instanceID, ctx: body.ctx });
});

test('ctx is what the step saw: in loops in each other, in branches, and in the chunks of a map', async () => {
  const nested = graph(
    {
      start: { type: 'start' },
      before: sees('before'),
      outer: { type: 'loop', sourceVariable: '{{ctx.input.items}}', itemVariable: 'row', indexVariable: 'at' },
      pure: { type: 'set', assignments: [{ name: 'x', value: '{{ctx.row}}' }] },
      bad: fails('outside'),
      worse: fails('inside'),
      beside: fails('beside'),
      handled: sees('handled'),
      alone: sees('alone'),
      first: sees('first'),
      inner: { type: 'loop', sourceVariable: '{{ctx.row}}', delayBetweenItems: 1 },
      within: sees('within'),
      again: sees('again'),
      rest: sees('rest'),
      // Ends while an iteration goes on, which does not see it: that has begun.
      aside: code('return 7;', { outputVariable: 'aside' }),
      after: sees('after'),
    },
    [
      ...[
        'start>bad',
        'bad:error>before',
        'start>beside',
        'beside:error>alone',
        'before>outer',
        'before>aside',
        'outer:loop>pure',
        'pure>worse',
        'worse:error>handled',
        'handled>first',
        'first>inner',
        'inner:loop>within',
      ],
      ...['within>again', 'inner:completed>rest', 'outer:completed>after', 'aside>after'],
    ],
  );
  const looped = await executed(nested, {
    items: [
      [1, null],
      ['<b>', { a: [] }],
    ],
  });

  const steps = await compared(looped);

  expect(steps.map(({ at }) => at).sort()).toEqual(
    [
      ...['alone ', 'before ', 'after ', 'handled 0', 'handled 1', 'first 0', 'first 1', 'rest 0', 'rest 1'],
      ...['0.0', '0.1', '1.0', '1.1'].flatMap((at) => [`within ${at}`, `again ${at}`]),
    ].sort(),
  );
  for (const { at, said, seen } of steps) expect([at, withoutSeen(said)]).toEqual([at, seen]);
  // Each sees the failure before it, not those of other branches, nor those in a body that is over.
  const errors = steps.map(({ at, seen }) => [
    at.split(' ')[0],
    'error' in seen && (seen.error as { message: string }).message,
  ]);
  expect(new Map(errors as [string, string][])).toEqual(
    new Map([
      ['alone', 'Error: beside (line 1)'],
      ...['before', 'after'].map((at) => [at, 'Error: outside (line 1)'] as const),
      ...['handled', 'first', 'rest', 'within', 'again'].map((at) => [at, 'Error: inside (line 1)'] as const),
    ]),
  );
  expect((await inputOf(looped, 'within')).body).toMatchObject({ frame: [{ iteration: 1 }, { iteration: 1 }] });

  const mapped = await executed(
    graph(
      {
        start: { type: 'start' },
        before: sees('before'),
        map: { type: 'map', sourceVariable: '{{ctx.input.items}}', chunkSize: 2 },
        bad: fails('outside'),
        one: sees('one'),
        worse: fails('inside'),
        two: sees('two'),
      },
      ['start>before', 'before>bad', 'bad:error>map', 'map:map>one', 'one>worse', 'worse:error>two'],
    ),
    { items: ['a', null, { b: 1 }] },
  );
  const { instances } = (await api().get(`T/workflows/instances?parentInstanceID=${mapped}`)).body;
  const inChunks = (
    await Promise.all(instances.map((chunk: { instanceID: string }) => compared(chunk.instanceID)))
  ).flat();
  expect(inChunks).toHaveLength(6);
  for (const { at, seen } of inChunks)
    expect(seen).toMatchObject({
      error: { message: at.startsWith('one') ? 'Error: outside (line 1)' : 'Error: inside (line 1)' },
    });
  for (const { at, said, seen } of inChunks) expect([at, withoutSeen(said)]).toEqual([at, seen]);
});

test('each attempt is told apart; a step that is not reached, and what cannot be one, are refused', async () => {
  const instanceID = await executed(
    chain({
      bad: code('throw new Error(ctx.input.why);', { retryLimit: 1, retryDelaySeconds: 0 }),
      never: code('return 1;'),
    }),
    { why: 'because' },
  );

  const [one, two, latest] = await Promise.all(
    ['?attempt=1', '?attempt=2', ''].map((query) => inputOf(instanceID, 'bad', query)),
  );

  expect(one?.body).toMatchObject({ attempt: 1, status: 'FAILED', ctx: { input: { why: 'because' } } });
  expect(two?.body).toMatchObject({ attempt: 2, status: 'FAILED', ctx: { input: { why: 'because' } } });
  expect(latest?.body).toEqual(two?.body);
  for (const [nodeID, query] of [
    ['bad', '?attempt=3'],
    ['bad', '?iterations=0'],
    ['never', ''],
    ['nowhere', ''],
  ] as const)
    expect(await inputOf(instanceID, nodeID, query)).toMatchObject({
      status: 404,
      body: { error: { code: 'NOT_FOUND' } },
    });
  for (const [query, field] of [
    ['attempt=0', 'attempt'],
    ['attempt=9999999999', 'attempt'],
    ['iterations=1.', 'iterations'],
    ['iterations=9999999999', 'iterations'],
  ] as const) {
    const { status, body } = await inputOf(instanceID, 'bad', `?${query}`);
    expect([status, body.error.details.issues[0].path]).toEqual([400, [field]]);
  }
});

test('an answer has 2 MB of values at most: first those that templates name, and what is left out is named', async () => {
  const large = (letter: string) => code(`return { text: '${letter}'.repeat(900_000) };`, { outputVariable: letter });
  const instanceID = await executed(
    chain({
      a: large('a'),
      b: large('b'),
      c: large('c'),
      note: {
        type: 'set',
        assignments: [
          { name: 'one', value: '{{ctx.a.text}}' },
          { name: 'other', value: '{{ctx.b.text}}' },
          { name: 'both', value: '{{ctx.a.text}}{{ctx.a.text}}' },
        ],
      },
      wide: { type: 'set', assignments: [{ name: 'all', value: '{{ctx.a.text}}{{ctx.b.text}}{{ctx.c.text}}' }] },
    }),
    { filler: 'x'.repeat(400_000) },
  );

  const { body } = await inputOf(instanceID, 'note');

  expect(Object.keys(body.ctx).sort()).toEqual(['a', 'b']);
  const { timeline } = (await api().get(`T/workflows/instances/${instanceID}`)).body;
  const { seq } = timeline.find((event: Event) => event.nodeID === 'c' && event.status === 'SUCCESS');
  expect(body.omitted).toEqual([
    { key: 'input', nodeID: null, seq: null, length: 400_013, preview: null },
    { key: 'c', nodeID: 'c', seq, length: expect.any(Number), preview: expect.stringContaining('cccc') },
  ]);
  const [one, other, both] = body.settings.values.assignments;
  expect([one.value.length, other.value.length, both.value]).toEqual([
    900_000,
    900_000,
    '{{ctx.a.text}}{{ctx.a.text}}',
  ]);
  expect(body.settings.inDoubt).toEqual([{ path: ['assignments', 2, 'value'], reason: 'tooLong' }]);
  const wide = (await inputOf(instanceID, 'wide')).body;
  expect(wide.settings.inDoubt).toEqual([{ path: ['assignments', 0, 'value'], reason: 'omitted' }]);
  expect(JSON.stringify(wide).length).toBeLessThan(4_300_000);
});

test('a caller who may only execute reads the ctx of their own runs, without the settings', async () => {
  const member = await aMember(cluster, { tenant, can: ['workflow.execute'] });
  const reader = await aMember(cluster, { tenant, can: ['workflow.read'] });
  const shape = chain({ note: { type: 'log', message: 'Order {{ctx.input.id}}' } });
  const own = await executed(shape, { id: 1 }, member);
  const other = await executed(shape, { id: 2 });

  expect(await inputOf(own, 'note', '', member)).toMatchObject({
    status: 200,
    body: { settings: null, ctx: { input: { id: 1 } } },
  });
  expect(await inputOf(other, 'note', '', member)).toMatchObject({ status: 403 });
  expect((await inputOf(other, 'note', '', reader)).body.settings.values.message).toBe('Order 2');
  const stranger = await aTenant(cluster);
  const there = cluster.as(stranger.creator).in(stranger).get(`T/workflows/instances/${other}/nodes/note/input`);
  expect(await there).toMatchObject({ status: 404 });
});
